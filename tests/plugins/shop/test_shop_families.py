"""The eight families: pairs, the solver on a sample and the whole eval split, and that the solver can fail."""

from __future__ import annotations

import json

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from camg.errors import DataError
from camg_shop.environment import PAIRS
from camg_shop.families import FAMILIES, PRESERVING
from camg_shop.generate import split_cells
from camg_shop.permutation import Permutation, digits
from camg_shop.pocket import pocket_plan
from camg_shop.solver import RememberingStore, Solver, check_pocket, paths
from camg_shop.texts import FullStyle


@pytest.fixture(scope="module")
def solvers(shop):
    """(split, family) -> solver."""
    store, style = RememberingStore(shop.catalogue()), FullStyle("text_rich")
    found = {}
    for split in PAIRS:
        products = frozenset(i for ids in shop.tasks().cells[split].values() for i in ids)
        for family in FAMILIES:
            found[split, family] = Solver(shop.tasks().space(split, family), store, products, style)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_the_whole_eval_split_is_proven(solvers, family):
    for place in range(PAIRS["eval"] // len(FAMILIES)):
        assert solvers["eval", family].check(place) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sample_of_train_is_proven(solvers, family):
    for place in range(0, PAIRS["train"] // len(FAMILIES), 163):
        assert solvers["train", family].check(place) == []


@pytest.mark.parametrize("split", ["pocket", "pocket-eval"])
def test_pocket_is_proven(split):
    for place in range(0, 1024, 4):
        assert check_pocket(pocket_plan(split, place, 0)) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_share_everything_but_the_dependency(shop, family):
    first, second = shop.tasks().space("train", family).pair(11)
    plans = (first.plan, second.plan)
    assert plans[0].budget == plans[1].budget
    assert plans[0].customer == plans[1].customer
    assert [v.listings for v in plans[0].visits] == [v.listings for v in plans[1].visits]
    targets = [[v.target for v in plan.visits] for plan in plans]
    assert plans[0] != plans[1]
    assert (targets[0] == targets[1]) is (family in PRESERVING)
    assert plans[0].visits[-1].request == plans[1].visits[-1].request
    assert first.rows[-1].dependent


def test_eval_is_64_complete_pairs_of_all_families_and_other_products(shop):
    ids = shop.task_ids("eval")
    assert len(ids) == 128
    assert {task_id[:-2] for task_id in ids} == {task_id[:-2] for task_id in ids if task_id.endswith(".a")}
    assert {task_id.split(".")[2] for task_id in ids} == set(FAMILIES)
    train, held_out = ({i for row in shop.tasks().cells[split].values() for i in row} for split in PAIRS)
    assert not train & held_out
    assert 0.18 < len(held_out) / len(train | held_out) < 0.24
    used = {i for task_id in ids for visit in shop.task(task_id).payload["visits"] for i in visit["listings"]}
    assert used <= held_out


def test_train_is_large_lazy_and_without_repetition(shop):
    ids = shop.task_ids("train")
    assert len(ids) == 131_072
    assert len(set(ids)) == len(ids)
    assert ids[5] == list(ids)[5]
    seen = {json.dumps(shop.task(task_id).payload, sort_keys=True) for task_id in ids[:1600]}
    assert len(seen) == 1600
    with pytest.raises(IndexError):
        ids[len(ids)]


@pytest.mark.parametrize(
    "bad", ["shop.train.latent.99999.a", "shop.eval.latent.00008.a", "shop.pocket.latent.20000", "x", ""]
)
def test_unknown_tasks_and_splits_are_named(shop, bad):
    with pytest.raises(DataError, match="Expected a task of shop"):
        shop.task(bad)
    with pytest.raises(DataError, match="Expected a split of shop"):
        shop.task_ids(bad)


def test_no_position_is_favoured(shop):
    """Over both members of the pairs every dependent session has each target place equally often."""
    for family in set(FAMILIES) - PRESERVING - {"negative"}:
        space = shop.tasks().space("train", family)
        for place in range(60):
            first, second = space.pair(place)
            for row, a, b in zip(first.rows, first.plan.visits, second.plan.visits, strict=True):
                if row.dependent:
                    assert {a.target, b.target} == {0, 1}


def tampered(member, session, **changes):
    """A member with one session changed."""
    visits = list(member.plan.visits)
    visits[session] = evolve(visits[session], **changes)
    return evolve(member, plan=evolve(member.plan, visits=tuple(visits)))


def test_the_solver_notices_what_is_wrong(shop, solvers):
    solver, space = solvers["train", "latent"], shop.tasks().space("train", "latent")
    first, second = space.pair(0)
    assert solver.check_pair(first, second) == []
    visit = first.plan.visits[4]

    def faults(changed):
        return " | ".join(solver.check_pair(changed, second))

    assert "target path" in faults(tampered(first, 4, target=1 - visit.target))
    assert "does not flip" in faults(tampered(first, 4, target=1 - visit.target))
    assert "product id" in faults(tampered(first, 4, request=visit.request + " " + visit.listings[0]))
    assert "differs though it reveals nothing" in faults(tampered(first, 4, request=visit.request + " Please."))
    assert "product comes twice" in faults(tampered(first, 4, listings=first.plan.visits[0].listings))
    assert "found 0 paths" in faults(tampered(first, 0, request="Buy what you like for its color."))
    poor = evolve(first, plan=evolve(first.plan, budget=100))
    assert "passes the budget" in faults(poor)
    assert "budget differs" in faults(poor)
    foreign = shop.tasks().space("eval", "latent").pair(0)
    assert "of another split" in " | ".join(solver.check_pair(*foreign))


def test_pocket_checks_notice_too():
    plan = pocket_plan("pocket", 0, 0)
    visits = (plan.visits[0], evolve(plan.visits[1], request=f"want={plan.clue}"), plan.visits[2])
    assert "a later brief states the value" in check_pocket(evolve(plan, visits=visits))


def test_every_path_is_tried(shop):
    """Without the revealing texts' facts the requests admit nothing; with them exactly one of 64 or 729 paths."""
    for family in FAMILIES:
        member = shop.tasks().space("train", family).pair(2)[0]
        assert paths(member, shop.catalogue()) == [tuple(visit.target for visit in member.plan.visits)]


def test_a_poor_catalogue_is_refused_by_name(shop):
    from camg_shop.generate import Space

    cells = split_cells(shop.catalogue().traits[:20], 0)["train"]
    with pytest.raises(DataError, match="latent tasks of train"):
        Space("latent", "train", cells, shop.catalogue(), seed=0, sessions=6)


@given(st.integers(1, 400), st.text(max_size=5))
def test_permutations_are_bijections(size, key):
    order = Permutation(size, key)
    assert sorted(order(index) for index in range(size)) == list(range(size))
    with pytest.raises(IndexError):
        order(size)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_digits_are_positional(radices, data):
    size = 1
    for radix in radices:
        size *= radix
    value = data.draw(st.integers(0, size - 1))
    found, back, weight = digits(value, tuple(radices)), 0, 1
    for digit, radix in zip(found, radices, strict=True):
        assert 0 <= digit < radix
        back, weight = back + digit * weight, weight * radix
    assert back == value
