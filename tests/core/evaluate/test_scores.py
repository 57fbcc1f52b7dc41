"""What an evaluation says of episodes: shares, intervals, and why the failed ones failed."""

from __future__ import annotations

from camg.evaluate.scores import score, to_json
from camg.report.format import composition
from camg.types import EndReason, Episode, Outcome


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
