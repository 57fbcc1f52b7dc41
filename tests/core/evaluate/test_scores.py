"""What an evaluation says of episodes: shares, intervals, and why the failed ones failed."""

from __future__ import annotations

import attrs

from camg.evaluate.scores import per_task, score, to_json
from camg.report.format import composition, mean_costs
from camg.types import EndReason, Episode, Event, Outcome


def episode(number: int, failure: str) -> Episode:
    outcome = Outcome(success=float(not failure), complete=not failure, failure=failure)
    return Episode(number, "t", "coding", "eval", 0, (), (), outcome, EndReason.TERMINATED)


def test_failures_are_counted_by_class_most_frequent_first() -> None:
    failures = ["", "never submitted", "wrong fix", "wrong fix", ""]
    found = score([episode(number, failure) for number, failure in enumerate(failures)], {"coding": 5})
    assert list(found["coding"].failures.items()) == [("wrong fix", 2), ("never submitted", 1)]
    assert to_json(found)["environments"]["coding"]["failures"] == {"wrong fix": 2, "never submitted": 1}
    assert composition(found["coding"].failures) == "wrong fix 2 (66.7 %), never submitted 1 (33.3 %)"


def test_an_environment_that_names_no_classes_has_none() -> None:
    lost = Episode(0, "t", "shop", "eval", 0, (), (), Outcome(0.5, False), EndReason.ACTION_LIMIT)
    assert score([lost], {"shop": 1})["shop"].failures == {}


def test_actions_and_costs_are_those_of_all_steps() -> None:
    """Mem0's two manager steps are charged, and what they called is listed; means are over the episodes."""
    add = Event(before_turn=1, kind="add", slots=1, cost={"model_calls": 1, "embedding_calls": 2})
    search = Event(before_turn=1, kind="search", slots=1, cost={"embedding_calls": 1})
    busy = attrs.evolve(episode(0, ""), events=(add, search, add))
    found = score([busy, episode(1, "")], {"coding": 2})["coding"]
    assert found.slots == 1.5
    assert found.costs == {"embedding_calls": 2.5, "model_calls": 1.0}
    assert mean_costs(found.costs) == "embedding calls 2.5, model calls 1.0 for each episode"
    first, second = per_task([busy, episode(1, "")])
    assert (first["slots"], first["costs"]) == (3, {"model_calls": 2, "embedding_calls": 5})
    assert (second["slots"], second["costs"]) == (0, {})
    assert score([], {"coding": 0})["coding"].costs == {}
