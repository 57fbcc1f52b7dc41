"""The pocket split: tasks that are what they say, and episodes in real boxes with the embedded policy's window."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.episode.actions import BRACKET
from camg.errors import DataError
from camg.plugins import load_registry
from camg.protocols import Sandbox
from camg.types import Task
from camg_coding import pocket
from camg_coding.demonstrator import demonstrator
from camg_coding.pocket import OPERATORS, SIZES, plan
from camg_policies.pocket.corpus import Stage
from camg_policies.pocket.policy import load_codec

SPLITS = sorted(SIZES)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    found = load_registry().build("sandbox", "bwrap")
    yield found
    found.close()


@pytest.fixture(scope="module")
def stage(sandbox: Sandbox) -> Stage:
    """Episodes at the sizes of the embedded policy."""
    return Stage(load_registry(), sandbox)


@given(st.sampled_from(SPLITS), st.integers(0, 1023), st.integers(0, 3))
def test_a_task_has_one_wrong_operator(split: str, index: int, seed: int) -> None:
    made = plan(split, index, seed)
    assert made == plan(split, index, seed)
    assert len(set(made.names)) == pocket.MODULES
    assert made.wrong != made.right
    texts = dict(made.files())
    assert pocket.module(made.name, made.wrong) == texts[f"{made.name}.py"]
    assert pocket.parse(json.loads(json.dumps(pocket.task(split, index, seed).payload))) == made


def test_no_task_is_in_two_splits_or_twice_in_one() -> None:
    kept = [plan(split, index, 0) for split in SPLITS for index in range(SIZES[split])]
    bugs = {(made.names, made.operators, made.broken, made.wrong) for made in kept}
    assert len(bugs) == len(kept) == sum(SIZES.values())


def test_values_are_spread_evenly() -> None:
    made = [plan("pocket", index, 0) for index in range(SIZES["pocket"])]
    for counts, kinds in (
        (Counter(one.right for one in made), len(OPERATORS)),
        (Counter(one.broken for one in made), pocket.MODULES),
        (Counter(one.name for one in made), len(pocket.NAMES)),
    ):
        assert len(counts) == kinds
        assert max(counts.values()) < 1.2 * min(counts.values())


@pytest.mark.parametrize("pairs", [pocket._SHOWN, pocket._SHOWN[: pocket._FEW], pocket._TESTED])
def test_tried_pairs_tell_operators_apart(pairs: tuple[tuple[int, int], ...]) -> None:
    def column(operator: str) -> tuple[int, ...]:
        return tuple(int(eval(f"{a} {operator} {b}")) for a, b in pairs)

    for one, other in itertools.combinations(OPERATORS, 2):
        assert column(one) != column(other), (one, other)


def test_hidden_tests_try_what_the_visible_program_does_not() -> None:
    assert not set(pocket._TESTED) & set(pocket._SHOWN)


def test_nothing_before_the_check_tells_what_is_broken() -> None:
    made = plan("pocket", 0, 0)
    brief = pocket.Texts(made).brief()
    assert all(f"{name}.py" in brief for name in made.names)
    assert brief == pocket.Texts(plan_with_another_bug(made)).brief()


def plan_with_another_bug(made: pocket.Plan) -> pocket.Plan:
    from attrs import evolve

    return evolve(made, broken=(made.broken + 1) % pocket.MODULES, wrong="?")


def test_the_check_names_the_broken_module_last(tmp_path) -> None:
    made = plan("pocket", 5, 0)
    for path, text in made.files():
        (tmp_path / path).write_text(text)
    out = subprocess.run(
        [sys.executable, pocket.CHECK], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert out.splitlines()[-1] == f"FAIL {made.name}.py: want a {made.right} b"
    assert out.count("FAIL") == 1


def test_perfect_play_crosses_a_boundary_and_passes_hidden_tests(stage: Stage) -> None:
    for episode in stage.demonstrate("coding", "oracle", load_codec(), 12, seed=1):
        assert episode.outcome.complete, episode.outcome
        assert len(episode.replacements) == 1
        assert [turn.memory_access for turn in episode.turns] == [False, True, True, False, False]
        assert episode.reward == pytest.approx(1.0)


def test_a_drill_needs_no_memory(stage: Stage) -> None:
    for episode in stage.demonstrate("coding", "oracle", load_codec(), 6, seed=1, split="pocket-drill"):
        assert episode.outcome.complete
        assert not episode.replacements
        assert not any(turn.memory_access for turn in episode.turns)


def test_demonstrations_are_imperfect_in_known_ways(stage: Stage) -> None:
    episodes = stage.demonstrate("coding", "demonstrator", load_codec(), 120, seed=2)
    assert 0.02 < sum(episode.outcome.complete for episode in episodes) / len(episodes) < 0.25
    failures = Counter(episode.outcome.failure for episode in episodes)
    assert failures["wrong fix"] > 60
    assert set(failures) <= {"", "wrong fix", "never submitted", "unparseable"}


def test_another_environments_task_is_refused() -> None:
    with pytest.raises(DataError, match="pocket task"):
        demonstrator(Task("x", "shop", "pocket", 3, {"style": "full"}), 0, BRACKET)
