"""Rows of SWE-smith, SWE-bench and SWE-Gym: each becomes an instance or a rejection with its name and reason."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pyarrow
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from camg.errors import DataError
from camg_coding.importers import FORMATS, read_rows, table
from camg_coding.importers.patch import patch_paths
from camg_coding.importers.report import Malformed
from camg_coding.names import same_name, split_mirror
from camg_coding.records import BUG, FIX, Instance, dump, parse

DATA = Path(__file__).parent / "data"
SMITH, BENCH, GYM = DATA / "swe_smith_rows.jsonl", DATA / "swe_bench_rows.json", DATA / "swe_gym_rows.json"


def smith_row(**fields: Any) -> dict[str, Any]:
    return {**json.loads(SMITH.read_text().splitlines()[0]), **fields}


def bench_row(**fields: Any) -> dict[str, Any]:
    return {**json.loads(BENCH.read_text())[0], **fields}


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: Any, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


# ---------------------------------------------------------------- the three formats
def test_smith_rows_introduce_the_bug() -> None:
    found = read_rows(SMITH)
    assert found.format == "swe-smith"
    first, second = found.instances
    assert (first.repo, first.base_commit, first.polarity) == ("teahouse/kettle", "0a1b2c3d", BUG)
    assert first.strategy == "func_pm_op_change"
    assert first.hidden_tests == ("tests/test_heat.py",)
    assert first.PASS_TO_PASS == ("tests/test_heat.py::test_cold[ice [0]]", "tests/test_lid.py::TestLid::test_closed")
    assert first.image_name == "swebench/swesmith.x86_64.teahouse_1776_kettle.0a1b2c3d"
    # lists as JSON strings, a plain repository name, a whole commit
    assert second.FAIL_TO_PASS == ("tests/test_heat.py::test_boils_at_a_hundred",)
    assert second.base_commit == "0a1b2c3d" + "4" * 32
    assert [(fault.row, fault.reason) for fault in found.rejected] == [(3, "empty problem statement")]
    assert found.counts == {"rows": 3, "tasks": 2, "empty problem statement": 1}


def test_bench_rows_hold_the_repair() -> None:
    found = read_rows(BENCH)
    assert found.format == "swe-bench"
    assert not found.rejected
    first = found.instances[0]
    assert (first.repo, first.base_commit, first.polarity) == ("larder/pantry", "ab" * 20, FIX)
    assert patch_paths(first.test_patch) == ("tests/test_shelf.py",)
    assert first.hidden_tests == ()  # the tree's own tests stay; the hidden ones come with the patch
    assert first.image_name == "swebench/sweb.eval.x86_64.larder_1776_pantry-41:latest"
    assert "look at the index" not in dump(first)  # hints are not for the policy


def test_gym_rows_have_images_of_their_own_and_ids_as_keys() -> None:
    found = read_rows(GYM)
    assert found.format == "swe-gym"
    assert [instance.instance_id for instance in found.instances] == ["Larder__Cellar-7", "Larder__Cellar-9"]
    assert found.instances[0].image_name == "xingyaoww/sweb.eval.x86_64.larder_s_cellar-7:latest"
    assert found.instances[0].polarity == FIX


@pytest.mark.parametrize("path", [SMITH, BENCH, GYM], ids=lambda path: path.stem)
def test_parquet_gives_the_same_as_json(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    if path == SMITH:
        rows = [json.loads(line) for line in text.splitlines()]
        for row in rows:  # a column has one type
            row["FAIL_TO_PASS"], row["PASS_TO_PASS"] = (
                json.loads(row[name]) if isinstance(row[name], str) else row[name]
                for name in ("FAIL_TO_PASS", "PASS_TO_PASS")
            )
    else:
        content = json.loads(text)
        rows = content if isinstance(content, list) else [{**row, "instance_id": key} for key, row in content.items()]
    other = tmp_path / "rows.parquet"
    columns = {name: None for row in rows for name in row}  # a row without a field has an empty cell
    parquet.write_table(pyarrow.Table.from_pylist([columns | row for row in rows]), other, row_group_size=1)
    found, expected = read_rows(other), read_rows(path)
    assert found.instances == expected.instances
    assert [fault.reason for fault in found.rejected] == [fault.reason for fault in expected.rejected]


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(DataError, match=r"camg\[parquet\]"):
        read_rows(path)


def test_a_torn_parquet_file_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(DataError, match="Expected a parquet file"):
        read_rows(path)


# ---------------------------------------------------------------- which format
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (without(smith_row(repo="teahouse/kettle", instance_id="kettle-1"), "image_name"), "unknown format"),
        (smith_row(test_patch="diff"), "ambiguous format"),
        (without(bench_row(), "environment_setup_commit", "version"), "ambiguous format"),
    ],
)
def test_rows_that_tell_no_format_are_named(row: dict[str, Any], reason: str, written: Callable[..., Path]) -> None:
    found = read_rows(written(smith_row(), row))
    assert len(found.instances) == 1
    assert [fault.reason for fault in found.rejected] == [reason]
    assert found.rejected[0].row == 2


def test_a_named_format_decides(written: Callable[..., Path]) -> None:
    row = without(bench_row(), "environment_setup_commit", "version")
    image = read_rows(written(row), format="swe-gym").instances[0].image_name
    assert image.startswith("xingyaoww/")
    assert read_rows(written(row), format="swe-bench").instances[0].image_name.startswith("swebench/")
    assert not read_rows(written(smith_row()), format="swe-bench").instances
    with pytest.raises(DataError, match="Expected one of auto, swe-smith, swe-bench, swe-gym"):
        read_rows(written(row), format="swe")


def test_formats_may_be_mixed(written: Callable[..., Path]) -> None:
    found = read_rows(written(smith_row(), bench_row()))
    assert (found.format, len(found.instances)) == ("mixed", 2)


# ---------------------------------------------------------------- malformed rows
FIXED = bench_row()["patch"]
MALFORMED: list[tuple[str, dict[str, Any], str]] = [
    ("no patch", without(smith_row(), "patch"), "missing field patch"),
    ("no tests", without(smith_row(), "FAIL_TO_PASS"), "missing field FAIL_TO_PASS"),
    ("null tests", smith_row(PASS_TO_PASS=None), "missing field PASS_TO_PASS"),
    ("no repository", without(bench_row(), "repo"), "missing field repo"),
    ("no commit", without(bench_row(), "base_commit"), "missing field base_commit"),
    ("no id", without(bench_row(), "instance_id"), "missing field instance_id"),
    ("id is a number", bench_row(instance_id=7), "wrong type of instance_id"),
    ("id is a path", bench_row(instance_id="../../etc"), "malformed instance_id"),
    ("id with a slash", bench_row(instance_id="a/b"), "malformed instance_id"),
    ("repository is a path", bench_row(repo="../x"), "malformed repo"),
    ("commit is an option", bench_row(base_commit="--output=x"), "malformed base_commit"),
    ("patch is a list", smith_row(patch=["x"]), "wrong type of patch"),
    ("tests are a number", smith_row(FAIL_TO_PASS=3), "wrong type of FAIL_TO_PASS"),
    ("tests hold a number", smith_row(FAIL_TO_PASS=["tests/t.py::t", 3]), "wrong type of FAIL_TO_PASS"),
    ("tests are no JSON", smith_row(FAIL_TO_PASS="['tests/t.py::t']"), "wrong type of FAIL_TO_PASS"),
    ("nothing fails", smith_row(FAIL_TO_PASS=[]), "empty test list"),
    ("nothing passes", smith_row(PASS_TO_PASS="[]"), "empty test list"),
    ("in both lists", smith_row(PASS_TO_PASS=smith_row()["FAIL_TO_PASS"]), "test in both lists"),
    ("cut parameters", smith_row(FAIL_TO_PASS=["tests/t.py::test_sum[a"]), "truncated test id"),
    ("cut at the front", smith_row(FAIL_TO_PASS=["tests/t.py::b]"]), "truncated test id"),
    ("cut before the name", smith_row(FAIL_TO_PASS=["tests/t.py::"]), "truncated test id"),
    ("cut class", bench_row(FAIL_TO_PASS=["test_a (shop.tests.Cart"]), "truncated test id"),
    ("test elsewhere", smith_row(FAIL_TO_PASS=["../t.py::test_a"]), "malformed test id"),
    ("blank test", smith_row(FAIL_TO_PASS=[" "]), "malformed test id"),
    ("no statement", without(smith_row(), "problem_statement"), "empty problem statement"),
    ("blank statement", smith_row(problem_statement=" \n"), "empty problem statement"),
    ("half a character", smith_row(problem_statement="\ud800"), "text that is not Unicode"),
    ("patch is prose", smith_row(patch="swap the operands"), "unparseable patch"),
    ("patch breaks off", smith_row(patch=FIXED[: FIXED.rindex("+")]), "unparseable patch"),
    ("patch of nothing", smith_row(patch="diff --git a/x.py b/x.py\n"), "unparseable patch"),
    ("patch climbs", smith_row(patch=FIXED.replace("src/pantry", "../../etc")), "patch leaves the tree"),
    ("patch is absolute", smith_row(patch=FIXED.replace("--- a/", "--- /")), "patch leaves the tree"),
    ("patch enters .git", smith_row(patch=FIXED.replace("src/pantry", ".git")), "patch leaves the tree"),
    (
        "patch makes a link",
        smith_row(
            patch="diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n"
        ),
        "patch leaves the tree",
    ),
    ("test patch climbs", bench_row(test_patch=FIXED.replace("src/pantry", "..")), "patch leaves the tree"),
    (
        "binary patch",
        smith_row(patch="diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n"),
        "binary patch",
    ),
    (
        "patch of the tests",
        smith_row(patch=FIXED.replace("src/pantry/shelf", "tests/test_heat")),
        "patch changes the tests",
    ),
    ("both patches on one file", bench_row(test_patch=FIXED), "patch changes the tests"),
    ("date is a list", smith_row(created_at=[1]), "wrong type of created_at"),
]


@pytest.mark.parametrize(("row", "reason"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED])
def test_a_malformed_row_is_named_and_the_others_stay(
    row: dict[str, Any], reason: str, written: Callable[..., Path]
) -> None:
    found = read_rows(written(smith_row(), row, bench_row()))
    assert len(found.instances) == 2
    [fault] = found.rejected
    assert (fault.file, fault.row, fault.reason) == ("rows.jsonl", 2, reason)
    if isinstance(row.get("instance_id"), str):
        assert fault.instance_id == row["instance_id"]
    assert found.counts["rows"] == 3
    assert found.counts[reason] == 1


def test_a_duplicate_is_named(written: Callable[..., Path]) -> None:
    found = read_rows(written(smith_row(), bench_row(), smith_row()))
    assert [(fault.row, fault.reason, fault.detail) for fault in found.rejected] == [
        (3, "duplicate instance_id", "as in row 1")
    ]


def test_a_rejection_can_always_be_printed(written: Callable[..., Path]) -> None:
    unnamed = smith_row(instance_id="a\ud800\x1b[2Jb")
    octal = smith_row(patch=FIXED.replace("a/src/pantry/shelf.py", '"a/../\\377.py"'))
    for fault in read_rows(written(unnamed, octal)).rejected:
        assert str(fault).isprintable()
        str(fault).encode("utf-8")
    assert read_rows(written(unnamed)).rejected[0].instance_id == "a\\ud800\\x1b[2Jb"


def test_parameters_may_hold_any_brackets(written: Callable[..., Path]) -> None:
    ids = ["t.py::test_a[[]", "t.py::test_a[]]", "t.py::test_a[]", "t.py::T::test_a[x::y(]", "test_a (shop.Cart)"]
    assert tuple(ids) == read_rows(written(smith_row(PASS_TO_PASS=ids))).instances[0].PASS_TO_PASS


def test_the_table_counts_by_reason(written: Callable[..., Path]) -> None:
    found = read_rows(written(smith_row(), *(case[1] for case in MALFORMED[:9])))
    lines = table(found).splitlines()
    assert lines[0].split() == ["rows", "10"]
    assert lines[1].split() == ["tasks", "1"]
    assert sum(int(line.split()[-1]) for line in lines[2:]) == 9


# ---------------------------------------------------------------- broken files
def test_bad_lines_cost_only_themselves(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    good = json.dumps(smith_row()).encode()
    path.write_bytes(b"\xef\xbb\xbf" + good + b'\n\n{"instance_id": "x"\n\xff\xfe{}\n[1]\n' + b"[" * 100_000 + b"\n")
    found = read_rows(path)
    assert len(found.instances) == 1
    assert [(fault.row, fault.reason) for fault in found.rejected] == [
        (3, "not JSON"),
        (4, "not UTF-8"),
        (5, "not an object"),
        (6, "not JSON"),
    ]


def test_json_lines_are_known_under_another_name(written: Callable[..., Path]) -> None:
    assert len(read_rows(written(smith_row(), bench_row(), name="rows.json")).instances) == 2


def test_a_single_row_is_a_file_of_one(written: Callable[..., Path]) -> None:
    assert len(read_rows(written(smith_row(), name="row.json")).instances) == 1


@pytest.mark.parametrize("path", [BENCH, GYM], ids=lambda path: path.stem)
@pytest.mark.parametrize("share", [0.4, 0.7, 0.99])
def test_a_document_that_breaks_off_gives_what_came_before(path: Path, share: float, tmp_path: Path) -> None:
    text = path.read_text()
    torn = tmp_path / "rows.json"
    torn.write_text(text[: int(len(text) * share)])
    found = read_rows(torn)
    assert len(found.instances) == (share > 0.5)
    assert found.rejected[-1].reason == "not JSON"


def test_a_key_that_contradicts_its_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"larder__pantry-41": bench_row(), "larder__pantry-42": bench_row()}))
    found = read_rows(path)
    assert len(found.instances) == 1
    assert found.rejected[0].instance_id == "larder__pantry-41"
    assert found.rejected[0].reason == "malformed instance_id"


@pytest.mark.parametrize("content", ["", "[]", "{}", "\n", "instance_id,patch\n"])
def test_a_file_without_rows_is_one_error(content: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(content)
    with pytest.raises(DataError, match="Expected"):
        read_rows(path)


def test_a_missing_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_rows(tmp_path / "rows.jsonl")
    with pytest.raises(DataError, match="Is a directory"):
        read_rows(tmp_path)


# ---------------------------------------------------------------- fuzzing
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
PIECES = st.sampled_from(
    [FIXED, FIXED[:60], FIXED[60:], "--- a/x\n", "+++ b/x\n", "@@ -1 +1 @@\n", "-a\n", "+b\n", "\\ x"]
)
PATCHES = st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=40)
IDS = st.text(alphabet="ab[]()./: \n", max_size=14).map(lambda text: f"t.py::{text}") | st.text(max_size=12)
VALUES = JSON | PATCHES | IDS | st.lists(IDS, max_size=3) | st.lists(IDS, max_size=3).map(json.dumps)
FIELDS = sorted({*smith_row(), *bench_row()})


@st.composite
def rows(draw: st.DrawFn) -> Any:
    base = draw(st.sampled_from([smith_row(), bench_row(), without(bench_row(), "environment_setup_commit")]))
    changed = base | draw(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=2))
    return draw(st.just(without(changed, *draw(st.lists(st.sampled_from(FIELDS), max_size=1)))) | JSON)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rows(), min_size=1, max_size=4), st.sampled_from(FORMATS))
def test_every_row_is_an_instance_or_a_named_rejection(tmp_path: Path, given_rows: list[Any], format: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in given_rows))
    found = read_rows(path, format=format)
    assert {fault.row for fault in found.rejected} | set(found.rows.values()) == set(range(1, len(given_rows) + 1))
    assert len(found.instances) + len(found.rejected) == found.counts["rows"]
    assert all(fault.reason for fault in found.rejected)
    for instance in found.instances:
        assert parse(Instance, dump(instance), "here") == instance
        assert patch_paths(instance.patch)
        assert instance.FAIL_TO_PASS
        assert instance.PASS_TO_PASS
        assert instance.problem_statement.strip()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.sampled_from([b"", b"[", b"{", b'{"a":', b"PAR1", b'[{"patch": "x"}, ']))
@example(b'{"a":1}{', b"")
@example(b'{"a":{}} x', b"")
def test_no_bytes_crash_the_reader(tmp_path: Path, data: bytes, start: bytes) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(start + data)
    try:
        found = read_rows(path)
    except DataError:
        return
    assert len(found.instances) + len(found.rejected) == found.counts["rows"] > 0


@settings(max_examples=300, deadline=None)
@given(PATCHES)
def test_no_patch_crashes_the_judge(patch: str) -> None:
    try:
        paths = patch_paths(patch)
    except Malformed:
        return
    assert paths
    assert not any(path.startswith("/") or ".." in path.split("/") for path in paths)


# ---------------------------------------------------------------- names
@pytest.mark.parametrize(
    "spelling",
    [
        "Pallets/Flask",
        "pallets/flask.git",
        "https://github.com/pallets/flask",
        "https://www.github.com/pallets/flask.git/",
        "git@github.com:pallets/flask.git",
        "ssh://git@github.com/pallets/flask",
        "github.com/pallets/flask",
        "swesmith/pallets__flask.bc098406",
        "pallets__flask.bc098406",
        "pallets__flask",
        " mitsuhiko/flask ",
    ],
)
def test_a_repository_is_known_under_any_spelling(spelling: str) -> None:
    assert same_name(spelling) == "pallets/flask"


def test_mirrors_keep_case_and_give_the_commit() -> None:
    assert split_mirror("swesmith/Project-MONAI__MONAI.a09c1f08") == ("Project-MONAI/MONAI", "a09c1f08")
    assert split_mirror("swesmith/a__b.c__d.0011aabb") == ("a/b.c__d", "0011aabb")
    assert split_mirror("owner/name.with.dots") == ("owner/name.with.dots", "")


@pytest.mark.parametrize("text", ["", "flask", "a/b/c", "../x", "a/..", "a b/c", "/"])
def test_what_names_no_repository_is_an_error(text: str) -> None:
    with pytest.raises(DataError, match="Expected a repository as owner/name"):
        same_name(text)


def test_an_instance_has_no_profile_before_one_is_built() -> None:
    assert {instance.profile for path in (SMITH, BENCH, GYM) for instance in read_rows(path).instances} == {""}
    assert attrs.fields(Instance).profile.default is attrs.NOTHING
