"""``camg tasks build shop`` and ``camg tasks check shop``, as a user calls them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from camg.errors import DataError
from camg_shop import commands, synthetic
from camg_shop.certify import Certification
from camg_shop.solver import Solver


def test_build_imports_a_folder_and_says_how_to_use_it(tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "PER_CELL", 9)  # quicker, and still two products of each value on either side
    files = tmp_path / "webshop"
    files.mkdir()
    synthetic.write(files, 5)
    arguments = ["--webshop", str(files), "--cache", str(tmp_path / "cache")]
    result = CliRunner().invoke(commands.build, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "asin longer than 10" in result.stdout
    assert "certified" in result.stdout
    assert f"--set shop.webshop={files}" in result.stdout
    assert "items_shuffle.json, record" in result.stderr
    again = CliRunner().invoke(commands.build, [*arguments, "--json"], catch_exceptions=False)
    report = json.loads(again.stdout)
    assert report["products"] > 1000
    assert report["faults"][0].keys() == {"file", "record", "reason"}
    assert all(size > 0 for size in report["tasks"].values())


def test_build_names_what_is_missing(tmp_path):
    with pytest.raises(DataError, match=r"items_shuffle\.json"):
        CliRunner().invoke(commands.build, ["--webshop", str(tmp_path)], catch_exceptions=False, standalone_mode=False)


def test_check_proves_and_prints_the_yield(shop):
    result = CliRunner().invoke(commands.check, ["--limit", "16"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.count("all proven") == 1 + 8 + 8 + 2
    assert "title not unique" in result.stdout


def test_check_fails_when_an_invariant_does(shop, monkeypatch):
    stored = Certification(shop.catalogue().traits[1:], {"certified": 1})
    monkeypatch.setattr(commands, "certify", lambda products, store: stored)
    monkeypatch.setattr(Solver, "check", lambda self, place: ["a product comes twice"])
    arguments = ["--split", "eval", "--limit", "8", "--json"]
    result = CliRunner().invoke(commands.check, arguments, catch_exceptions=False)
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["ok"] is False
    assert report["yield"][0]["faults"] == {"certified differently now": 1}
    assert report["yield"][1]["faults"] == {"a product comes twice": 1}
    assert report["yield"][1]["first"] == "shop.eval.chain.00000"
