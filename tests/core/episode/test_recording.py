"""Episodes on disk: exact round trip, and clear refusal of what is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.episode.recording import from_json, to_json
from camg.errors import CorruptState
from camg.types import (
    Action,
    BoundaryKind,
    CheckpointFailure,
    CheckpointVerdict,
    EndReason,
    Episode,
    Event,
    FileState,
    Observation,
    Outcome,
    Replacement,
    Segment,
    StopReason,
    Timing,
    Turn,
    TurnKind,
)

texts = st.text()
numbers = st.floats(allow_nan=False)
manifests = st.dictionaries(texts, st.builds(FileState, kind=st.sampled_from(["file", "symlink"]), size=st.integers(0)))
turns = st.builds(
    Turn,
    index=st.integers(0),
    segment=st.integers(0),
    prompt_length=st.integers(0),
    token_ids=st.lists(st.integers(0), max_size=3).map(tuple),
    logprobs=st.lists(numbers, max_size=3).map(tuple),
    stop_reason=st.sampled_from(StopReason),
    policy_version=st.integers(0),
    text=texts,
    action=st.builds(Action, tool=st.none() | texts, arguments=st.dictionaries(texts, texts), fault=st.none() | texts),
    observation=st.builds(Observation, shown=texts, full=st.none() | texts, notices=st.lists(texts).map(tuple)),
    reward=numbers,
    memory_access=st.booleans(),
    kind=st.sampled_from(TurnKind),
    checkpoint=st.none()
    | st.builds(CheckpointVerdict, accepted=st.booleans(), failure=st.none() | st.sampled_from(CheckpointFailure)),
    manifest_before=manifests,
    manifest_after=manifests,
    timing=st.builds(Timing, generate=numbers),
)
episodes = st.builds(
    Episode,
    id=st.integers(0),
    task=texts,
    env=texts,
    split=texts,
    seed=st.integers(0),
    segments=st.lists(st.builds(Segment, st.just((1, 2)), st.just((0,))), max_size=2).map(tuple),
    turns=st.lists(turns, max_size=3).map(tuple),
    outcome=st.builds(Outcome, success=numbers, complete=st.booleans(), metrics=st.dictionaries(texts, numbers)),
    end_reason=st.sampled_from(EndReason),
    replacements=st.lists(st.builds(Replacement, st.integers(0), st.sampled_from(BoundaryKind))).map(tuple),
    events=st.lists(st.builds(Event, st.integers(0), texts, cost=st.dictionaries(texts, numbers))).map(tuple),
    fault=st.none() | texts,
)


@given(episodes)
def test_round_trip_through_json_is_exact(episode):
    assert from_json(json.loads(json.dumps(to_json(episode)))) == episode


@pytest.mark.parametrize("data", [None, [], {}, {"format": 99}, {"format": 1}, {"format": 1, "turns": 3}])
def test_what_is_no_episode_is_refused(data):
    with pytest.raises(CorruptState, match="Expected an episode record"):
        from_json(data)
