"""Methods against one another: which cells are one method, means over seeds, paired intervals, what is N/A, labels."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.report.comparison import AVERAGE, compare, excludes_zero, to_json
from camg.report.comparison_figure import write_comparison
from camg.report.comparison_text import difference_words, remarks, table_width, tables, to_csv
from camg.report.labels import tell_apart
from camg.report.load import CellResult

Values = dict[str, list[float]]


def cell(method: str, seed: int, values: Values, *, status: str = "finished", **settings) -> CellResult:
    """A cell whose tasks have these successes, by environment; a task is wholly solved where it is 1."""
    tasks = {
        env: {f"{env}.{i}": {"success": x, "complete": float(x == 1)} for i, x in enumerate(found)}
        for env, found in values.items()
    }
    return CellResult(
        run=Path("runs/r"),
        digest=f"{method}-{seed}",
        label="",
        values={"env": list(values), "baseline": method, "run.seed": seed, **settings},
        status=status,
        reports=[],
        tasks=tasks if status == "finished" else {},
    )


def test_means_over_seeds_and_differences_by_hand():
    """Two seeds, two tasks. Task means: a (1, .5), b (.5, .5); the differences of the tasks are -.5 and 0."""
    found = compare(
        [
            cell("a", 0, {"shop": [1.0, 0.0]}),
            cell("a", 1, {"shop": [1.0, 1.0]}),
            cell("b", 0, {"shop": [0.0, 0.0]}),
            cell("b", 1, {"shop": [1.0, 1.0]}),
        ],
        resamples=4000,
    )
    first, second = found.methods
    assert (first.label, first.seeds, second.label) == ("a", ("0", "1"), "b")
    figure = second.figures["success"]["shop"]
    assert figure.value.estimate == 0.5
    assert figure.by_seed == {"0": 0.0, "1": 1.0}
    assert first.figures["success"]["shop"].value.estimate == 0.75
    assert first.figures["success"]["shop"].difference is None
    difference = figure.difference
    # of two tasks drawn from two: both the first with chance 1/4, hence the ends
    assert (difference.estimate, difference.low, difference.high) == (-0.25, -0.5, 0.0)
    assert not excludes_zero(difference), "an end at zero does not exclude it"
    assert found.columns == ("shop",), "one environment is its own average"


def test_a_task_keeps_its_seeds_together():
    """Eq. 16 resamples task ids: seeds that cancel within each task leave no width."""
    found = compare(
        [
            cell("a", 0, {"shop": [0.0, 1.0] * 8}),
            cell("a", 1, {"shop": [1.0, 0.0] * 8}),
            cell("b", 0, {"shop": [1.0, 1.0] * 8}),
            cell("b", 1, {"shop": [1.0, 1.0] * 8}),
        ],
        resamples=500,
    )
    difference = found.methods[1].figures["success"]["shop"].difference
    assert (difference.estimate, difference.low, difference.high) == (0.5, 0.5, 0.5)
    assert excludes_zero(difference)


def test_the_average_is_the_unweighted_mean_of_environments():
    found = compare(
        [
            cell("a", 0, {"shop": [1.0] * 9, "coding": [0.0]}),
            cell("b", 0, {"shop": [1.0] * 9, "coding": [1.0]}),
        ],
        resamples=200,
    )
    assert found.columns == ("shop", "coding", AVERAGE)
    assert found.methods[0].figures["success"][AVERAGE].value.estimate == 0.5
    difference = found.methods[1].figures["success"][AVERAGE].difference
    assert (difference.estimate, difference.low, difference.high) == (0.5, 0.5, 0.5)


successes = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(successes), min_size=1, max_size=3))
def test_a_method_against_its_equal_has_no_difference_and_no_width(by_seed):
    cells = [cell(m, seed, {"shop": values}) for m in "ab" for seed, (values,) in enumerate(by_seed)]
    if len({len(values) for (values,) in by_seed}) > 1:
        cells = [c for c in cells if c.values["run.seed"] == 0]
    difference = compare(cells, resamples=100).methods[1].figures["success"]["shop"].difference
    assert (difference.estimate, difference.low, difference.high) == (0.0, 0.0, 0.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 1.0])] * 4), min_size=1, max_size=12))
def test_exchanging_the_methods_changes_the_sign(tasks):
    a, b, c, d = (list(column) for column in zip(*tasks, strict=True))
    one, other = {"shop": a, "coding": b}, {"shop": c, "coding": d}
    for measure in ("success", "complete"):
        there = compare([cell("x", 0, one), cell("y", 0, other)], resamples=200).methods[1].figures[measure]
        back = compare([cell("x", 0, other), cell("y", 0, one)], resamples=200).methods[1].figures[measure]
        for name in ("shop", "coding", AVERAGE):
            here, again = there[name].difference, back[name].difference
            assert (here.estimate, here.low, here.high) == pytest.approx((-again.estimate, -again.high, -again.low))
            assert excludes_zero(here) == excludes_zero(again)


# ---------------------------------------------------------------- N/A
def test_a_method_that_lacks_a_seed_is_not_averaged_over_the_others():
    found = compare(
        [
            cell("a", 0, {"shop": [1.0]}),
            cell("a", 1, {"shop": [1.0]}),
            cell("b", 0, {"shop": [1.0]}),
            cell("b", 1, {"shop": [1.0]}, status="failed"),
        ]
    )
    assert found.methods[1].figures["success"]["shop"].value is None
    assert found.methods[1].lacks == ("seed 1 failed (cell b-1: shop)",)
    assert "N/A: b, seed 1 failed (cell b-1: shop)" in remarks(found)
    json.dumps(to_json(found), allow_nan=False)


def test_without_a_first_result_or_the_same_tasks_there_is_no_difference():
    found = compare([cell("a", 0, {"shop": [1.0]}, status="failed"), cell("b", 0, {"shop": [1.0]})])
    figure = found.methods[1].figures["success"]["shop"]
    assert (figure.value.estimate, figure.difference) == (1.0, None)
    found = compare([cell("a", 0, {"shop": [1.0]}), cell("b", 0, {"shop": [1.0, 1.0]})])
    assert found.methods[1].figures["success"]["shop"].difference is None


def test_nothing_to_compare():
    assert compare([cell("a", 0, {"shop": [1.0]})]) is None
    assert compare([cell("a", seed, {"shop": [1.0]}, status="failed") for seed in (0, 1)]) is None


# ---------------------------------------------------------------- which cells are one method
def test_environments_that_are_swept_are_columns_of_one_row():
    """``--sweep env=shop,coding``: an option that only one environment has tells no methods apart."""
    cells = [
        cell(m, 0, {env: [1.0, 0.0]}, **{f"{env}.size": 3}) for m in ("a", "b") for env in ("shop", "coding")
    ]  # fmt: skip
    found = compare(cells, resamples=100)
    assert [(m.label, len(m.cells)) for m in found.methods] == [("a", 2), ("b", 2)]
    assert found.methods[1].figures["success"][AVERAGE].difference.estimate == 0.0


def test_a_joint_run_is_another_method_than_a_single_one():
    joint = cell("a", 0, {"shop": [1.0, 0.0], "coding": [1.0]})
    found = compare([cell("a", 0, {"shop": [1.0, 1.0]}), joint], resamples=100)
    assert [m.label for m in found.methods] == ["shop", "shop+coding"]
    assert found.methods[0].figures["success"]["coding"].value is None
    assert found.methods[1].figures["success"]["shop"].difference.estimate == -0.5


def test_labels_hold_the_fewest_settings():
    grid = [
        {"baseline": b, "memory": b.upper(), "learner.clip": clip, "learner.flag": clip > 0.2, "run.seed": seed}
        for b in ("x", "y")
        for clip in (0.2, 0.3)
        for seed in (0, 1)
    ]
    labels = tell_apart(grid)
    assert labels[0] == "x, clip 0.2, seed 0"
    assert labels[-1] == "y, clip 0.3, seed 1"
    assert len(set(labels)) == 8
    assert tell_apart(grid, without=("run.seed",))[:3] == ["x, clip 0.2", "x, clip 0.2", "x, clip 0.3"]
    assert tell_apart([{"a": 1}, {"a": 1}]) == ["default", "default"]
    assert tell_apart([{"learner.flag": False}, {"learner.flag": True}]) == ["default", "flag"]
    assert tell_apart([{"baseline": None}, {"baseline": "x"}]) == ["no baseline", "x"]


# ---------------------------------------------------------------- text and files
def suite(environments: tuple[str, ...]):
    return compare(
        [
            cell(m, 0, {env: [float(i % 7 < k) for i in range(64)] for env in environments})
            for m, k in (("camg-rl", 6), ("compaction-rl-original", 3), ("no-memory-gradient", 6))
        ],
        resamples=300,
    )


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_tables_fit_into_the_terminal_and_hold_every_figure(width, count):
    found = suite(("shop", "coding", "deepresearch", "autoresearch")[:count])
    made = tables(found, width)
    assert all(table_width(rows) <= width for _, rows in made)
    assert all(len(row) == len(rows[0]) for _, rows in made for row in rows)
    text = "\n".join(" ".join(row) for _, rows in made for row in rows)
    for method in found.methods:
        for measure in ("success", "complete"):
            for name in found.columns:
                figure = method.figures[measure][name]
                assert f"{100 * figure.value.estimate:.1f}" in text
                if figure.difference is not None:
                    assert difference_words(figure.difference) in text
    assert difference_words(found.methods[1].figures["success"]["shop"].difference).endswith("] *")
    assert difference_words(found.methods[2].figures["success"]["shop"].difference) == "0.0 [0.0, 0.0]"


def test_the_files_hold_the_figures_and_the_labels(tmp_path):
    found = suite(("shop", "coding"))
    paths = write_comparison(found, tmp_path)
    assert [path.name for path in paths] == [f"comparison.{s}" for s in ("json", "csv", "png", "svg")]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths), "nothing beside"
    saved = json.loads(paths[0].read_text())
    assert saved["methods"][1]["success"]["average"]["excludes_zero"] is True
    lines = list(csv.DictReader(io.StringIO(to_csv(found))))
    assert len(lines) == 2 * 3 * 3
    assert (lines[0]["difference"], lines[0]["excludes_zero"]) == ("", "")
    line = next(row for row in lines if row["method"] == "compaction-rl-original" and row["env"] == "average")
    assert float(line["difference"]) == pytest.approx(saved["methods"][1]["success"]["average"]["difference"], abs=1e-6)
    assert paths[2].read_bytes()[:4] == b"\x89PNG"
    words = " ".join(ElementTree.parse(paths[3]).getroot().itertext())
    for text in ("camg-rl", "compaction-rl-original", "shop", "coding", "average", "difference in points", "solved"):
        assert text in words
    before = paths[3].read_bytes()
    assert write_comparison(found, tmp_path)[3].read_bytes() == before, "the same results give the same figure"
