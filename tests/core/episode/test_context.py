"""The context: append-only segments, each sampled token in exactly one place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from camg.episode.context import Context

ids = st.lists(st.integers(0, 50), max_size=6)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), ids),
        st.tuples(st.just("respond"), st.lists(st.integers(100, 200), min_size=1, max_size=4)),
        st.tuples(st.just("replace"), ids),
        st.tuples(st.just("remove"), st.tuples(st.integers(0, 20), st.integers(0, 5))),
        st.tuples(st.just("aside"), st.lists(st.integers(100, 200), min_size=1, max_size=4)),
        st.tuples(st.just("sync"), ids),
    ),
    max_size=30,
)


@given(operations)
def test_every_response_stands_behind_its_prompt_in_its_segment(steps):
    context, placed = Context(), []
    for name, argument in steps:
        if name == "respond":
            prompt = list(context.ids)
            placed.append((*context.respond(len(placed), argument), prompt, argument))
        elif name == "aside":
            placed.append((*context.aside([7, 7], len(placed), argument), [7, 7], argument))
        elif name == "remove":
            context.remove(argument[0], argument[0] + argument[1])
        else:
            getattr(context, name)(argument)
    segments = context.segments()
    for turn, (segment, length, prompt, response) in enumerate(placed):
        row = segments[segment]
        assert list(row.token_ids[:length]) == prompt
        assert list(row.token_ids[length : length + len(response)]) == response
        assert turn in row.turns
    assert sorted(turn for segment in segments for turn in segment.turns) == list(range(len(placed)))
    assert all(segment.turns for segment in segments)


def test_what_follows_the_last_response_is_not_kept():
    context = Context()
    context.replace([1, 2])
    context.respond(0, [3])
    context.append([4, 5])
    assert context.segments()[0].token_ids == (1, 2, 3)


def test_sync_appends_where_the_prefix_holds_and_opens_a_segment_where_it_breaks():
    context = Context()
    context.replace([1, 2])
    context.respond(0, [3])
    assert context.sync([1, 2, 3, 4])
    context.respond(1, [5])
    assert not context.sync([1, 2, 4, 6])  # a template that stripped an earlier thought
    assert not context.sync([1, 2])  # nothing new: an empty delta is no prefix either
    context.respond(2, [7])
    assert [segment.token_ids for segment in context.segments()] == [(1, 2, 3, 4, 5), (1, 2, 7)]


def test_removing_unseen_ids_keeps_the_segment():
    context = Context()
    context.replace([1, 2])
    context.respond(0, [3])
    context.append([4, 5, 6])
    context.remove(3, 5)
    context.respond(1, [8])
    assert [segment.token_ids for segment in context.segments()] == [(1, 2, 3, 6, 8)]
