"""Repository-disjoint splits and contamination: deterministic, proportional, independent of order, nothing lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.errors import DataError
from camg_coding.config import EVAL_TASKS
from camg_coding.records import BUG, Instance, Profile
from camg_coding.splits import HELD_OUT, contaminated, possible_forks, proportional, split
from camg_coding.store import TaskSet


def instance(repo: str, number: int = 0, *, image: str = "image", profile: str = "") -> Instance:
    return Instance(
        instance_id=f"{repo.replace('/', '__')}.{number}",
        repo=repo,
        profile=profile,
        patch="",
        polarity=BUG,
        FAIL_TO_PASS=("t.py::a",),
        PASS_TO_PASS=("t.py::b",),
        problem_statement="x",
        image_name=image,
    )


def task_set(sizes: Mapping[str, int], order: int = 0, profiles: Mapping[str, Profile] | None = None) -> TaskSet:
    instances = [instance(repo, number) for repo, size in sizes.items() for number in range(size)]
    random.Random(order).shuffle(instances)
    return TaskSet(Path(), profiles or {}, {item.instance_id: item for item in instances})


SIZES = st.dictionaries(
    st.integers(0, 60).map(lambda number: f"owner{number % 7}/name{number}"), st.integers(1, 120), max_size=12
)
SEEDS = st.integers(0, 2**31)
SHARES = st.floats(0.01, 0.99)


@settings(max_examples=60, deadline=None)
@given(SIZES, SEEDS, SHARES)
def test_a_split_keeps_its_promises(sizes: dict[str, int], seed: int, share: float) -> None:
    tasks = task_set(sizes)
    found = split(tasks, seed, share)
    assert set(found) == {"train", "eval"}
    repositories = {name: {tasks.instances[task].repo for task in found[name]} for name in found}
    # disjoint, by repository and so by task
    assert not repositories["train"] & repositories["eval"]
    assert len(set(found["train"] + found["eval"])) == len(found["train"]) + len(found["eval"])
    # nothing lost: a training repository is there whole, and the others are evaluation's
    assert len(found["train"]) == sum(sizes[repo] for repo in repositories["train"])
    held = {repo: size for repo, size in sizes.items() if repo not in repositories["train"]}
    # the share of repositories, with at least one on each side
    if len(sizes) >= 2:
        assert 1 <= len(held) < len(sizes)
        assert len(held) >= min(share * len(sizes) - 1e-6, len(sizes) - 1)
        assert len(held) - 1 < share * len(sizes) or len(held) == 1
    else:
        assert not found["eval"]
    # proportional within one
    whole = sum(held.values())
    taken = Counter(tasks.instances[task].repo for task in found["eval"])
    assert sum(taken.values()) == min(EVAL_TASKS, whole)
    for repo, size in held.items():
        quota = size * min(1.0, EVAL_TASKS / whole)
        assert abs(taken[repo] - quota) < 1


@settings(max_examples=30, deadline=None)
@given(SIZES, SEEDS, SHARES, st.integers(1, 1000))
def test_the_order_of_the_file_does_not_matter(sizes: dict[str, int], seed: int, share: float, order: int) -> None:
    assert split(task_set(sizes), seed, share) == split(task_set(sizes, order), seed, share)


def test_the_seed_matters_and_is_fixed_across_processes() -> None:
    tasks = task_set({f"owner/name{number}": 30 for number in range(12)})
    assert split(tasks, 0, 0.25) != split(tasks, 1, 0.25)
    # pinned: a change of this order would silently move tasks between the splits of published runs
    first = split(tasks, 0, 0.25)
    assert sorted({tasks.instances[task].repo for task in first["eval"]}) == PINNED
    assert len(first["eval"]) == 90


PINNED = ["owner/name1", "owner/name3", "owner/name8"]


def test_two_spellings_of_one_repository_stay_together() -> None:
    tasks = task_set({"Owner/Name": 5, "owner/name": 5, "owner/other": 5})
    found = split(tasks, 0, 0.5)
    assert sorted(map(len, found.values())) == [5, 10]


def test_what_cannot_be_run_is_in_no_split() -> None:
    profile = Profile(key="k", owner="a", repo="b", commit="1", source="git")
    kept = [instance("a/b", 1, image="", profile="k"), instance("c/d", 2, image="x")]
    left = [instance("a/b", 3, image=""), instance("a/b", 4, image="", profile="gone")]
    tasks = TaskSet(Path(), {"k": profile}, {item.instance_id: item for item in kept + left})
    found = split(tasks, 0, 0.5)
    assert {*found["train"], *found["eval"]} == {item.instance_id for item in kept}


def test_a_repository_name_of_ones_own_is_no_error() -> None:
    assert len(split(task_set({"just a folder": 3, "owner/name": 3}), 0, 0.5)["train"]) == 3


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 500), min_size=1, max_size=20), st.integers(0, 300))
def test_largest_remainder(sizes: dict[str, int], total: int) -> None:
    shares = proportional(sizes, total)
    whole = sum(sizes.values())
    assert sum(shares.values()) == min(total, whole)
    for name, size in sizes.items():
        assert 0 <= shares[name] <= size
        if whole:
            assert abs(shares[name] - size * min(1.0, total / whole)) < 1
    if whole > total:  # no repository gains by a smaller remainder
        up = [sizes[name] * total % whole for name in sizes if shares[name] > sizes[name] * total // whole]
        down = [sizes[name] * total % whole for name in sizes if shares[name] == sizes[name] * total // whole]
        assert not up or not down or min(up) >= max(down)


# ---------------------------------------------------------------- contamination
@pytest.mark.parametrize(
    "repo",
    ["django/django", "Django/Django", "kennethreitz/requests", "PyCQA/pylint", "swesmith/sympy__sympy.0011aabb"],
)
def test_held_out_repositories_are_found_under_any_spelling(repo: str) -> None:
    kept = instance("teahouse/kettle")
    assert contaminated([instance(repo), kept]) == (instance(repo),)


def test_the_list_is_ones_own_where_given() -> None:
    found = contaminated(
        [instance("django/django"), instance("teahouse/kettle")], ["https://github.com/TeaHouse/Kettle.git"]
    )
    assert [item.repo for item in found] == ["teahouse/kettle"]
    with pytest.raises(DataError, match="Expected a repository"):
        contaminated([instance("a/b")], ["django"])


def test_forks_are_warned_of_and_not_removed() -> None:
    fork = instance("someone/django")
    assert not contaminated([fork])
    assert possible_forks([fork, instance("django/django"), instance("a/b")]) == {"someone/django": ("django/django",)}


def test_the_shipped_list_is_swe_benchs() -> None:
    assert len(set(HELD_OUT)) == 12
    assert {"django/django", "sympy/sympy", "psf/requests"} <= set(HELD_OUT)
