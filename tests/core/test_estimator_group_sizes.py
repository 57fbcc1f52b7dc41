"""The group size is the estimator's own option, from the command line to the schedule; a critic that is not there is
not trained first."""

from __future__ import annotations

import pytest

from camg.config import resolve_config
from camg.config.validate import reasons_against
from camg.plugins import load_registry
from camg.rollout.rig import training_schedule


@pytest.fixture(scope="module")
def registry():
    return load_registry(quiet=True)


def resolve(registry, **settings):
    return resolve_config(registry, command_line={"env": ["shop"], **settings}, environ={})


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"estimator": "response-gae"}, 1),
        ({"estimator": "grpo"}, 8),
        ({"estimator": "grpo", "grpo.size": "3"}, 3),
        ({"estimator": "stepwise-grpo"}, 8),
        ({"estimator": "rloo"}, 4),
        ({"estimator": "rloo", "rloo.size": "2"}, 2),
    ],
)
def test_the_schedule_runs_as_many_episodes_of_a_task_as_the_option_says(registry, settings, size) -> None:
    config = resolve(registry, **settings)
    schedule = training_schedule(config, registry)
    assert (config.group_size(registry), schedule.group_size) == (size, size)
    entries = list(schedule.entries(0, 6 * size))
    for start in range(0, len(entries), size):
        group = entries[start : start + size]
        assert len({(entry.env, entry.task, entry.group) for entry in group}) == 1
    assert len({entry.group for entry in entries}) == 6


@pytest.mark.parametrize(("episodes", "fits"), [("12", True), ("10", False)])
def test_an_update_holds_whole_groups(registry, episodes, fits) -> None:
    config = resolve(registry, estimator="grpo", **{"grpo.size": "3", "run.episodes": episodes})
    reasons = reasons_against(config, registry)
    assert (reasons == []) == fits
    assert all("multiple of 3" in reason for reason in reasons)


def test_kl_and_clip_are_the_estimators_defaults_and_may_be_set(registry) -> None:
    own = resolve(registry, estimator="stepwise-grpo").learner
    assert (own.clip, own.kl) == (0.0, 0.1)
    set_ = resolve(registry, estimator="stepwise-grpo", **{"learner.kl": "0", "learner.clip": "0.3"}).learner
    assert (set_.clip, set_.kl) == (0.3, 0.0)
    assert resolve(registry).learner.kl == 0.0


def test_without_a_critic_there_is_nothing_to_train_first(registry) -> None:
    pretrained = {"learner.value_pretraining": "5"}
    (reason,) = reasons_against(resolve(registry, estimator="rloo", **pretrained), registry)
    assert "learner.value_pretraining" in reason
    assert "'rloo' has no critic" in reason
    assert reasons_against(resolve(registry, **pretrained), registry) == []
