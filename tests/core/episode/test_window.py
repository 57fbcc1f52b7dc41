"""The window: what a plan keeps stays byte for byte, is never trained twice, and always fits the limit."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.episode.actions import BRACKET
from camg.episode.chat import ByteCodec
from camg.episode.window import Window
from camg.errors import InfrastructureFault
from camg.protocols import Kept, Replace
from camg.settings import RolloutSettings
from camg.types import Response, StopReason

CODEC = ByteCodec(BRACKET, terse=True)
ROLLOUT = RolloutSettings(prompt_tokens=600, response_tokens=40, observation_tokens=120, reserve_tokens=10)


class Quiet:
    tools = ()

    def instructions(self, *, terse):
        return ""


def window(**changes):
    found = Window(CODEC, Quiet(), (), attrs.evolve(ROLLOUT, **changes))
    found.open("the brief")
    return found


def say(found, turn, text, reply, ended=True):
    ids = CODEC.encode(text) + ((CODEC.eos_id,) if ended else ())
    stop = StopReason.EOS if ended else StopReason.LENGTH
    found.respond(turn, Response(ids, (0.0,) * len(ids), stop, 0, text))
    if reply is not None:
        assert found.show(reply) is not None


def shown(found):
    return CODEC.decode(found.ids)


def test_steps_that_are_kept_keep_their_ids_and_are_context_only():
    found = window()
    for turn in range(3):
        say(found, turn, f"say {turn}", f"answer {turn}", ended=turn != 1)
    tail = found.ids[found.ids.index(ord("1")) - 4 :]  # from "say 1" on
    found.open("the brief", Replace(note="a note", keep=[Kept(1), Kept(2)]))
    assert list(found.ids[-len(tail) :]) == list(tail)
    assert "a note" in shown(found)
    assert "say 0" not in shown(found)
    assert [step.turn for step in found.steps()] == [1, 2]
    say(found, 3, "say 3", None)
    first, second = found.segments()
    assert (first.turns, second.turns) == ((0, 1, 2), (3,))


def test_a_reply_that_was_not_shown_yet_is_carried_over():
    found = window()
    say(found, 0, "look", None)
    found.hold("seen at last")
    assert [message.content for message in found.transcript()][-2:] == ["look", "seen at last"]
    found.open("next", Replace(keep=[Kept(0)]))
    assert shown(found).endswith("<|assistant|>look<|end|>\n<|user|>seen at last<|end|>\n<|assistant|>")


def test_responses_and_replies_can_be_left_out_or_rewritten():
    found = window()
    say(found, 0, "secret word", "public answer")
    say(found, 1, "summarise", "working")
    found.open("brief", Replace(keep=[Kept(0, response=False), Kept(1, reply="the summary")]))
    text = shown(found)
    assert "secret" not in text
    assert "working" not in text
    assert "public answer" in text
    assert "the summary" in text
    assert text.count("<|assistant|>") == 3  # an empty one, the summarising one, and the next
    found.open("brief", Replace(keep=[Kept(0, reply="")]))
    assert [(step.response, step.reply) for step in found.steps()] == [("", "")]


def test_the_brief_can_be_left_out_and_instructions_replaced():
    found = window()
    found.open("the brief", Replace(note="resume", task=False, instructions="you have MemFS"))
    assert "the brief" not in shown(found)
    assert "you have MemFS" in shown(found)
    found.open("the brief")
    assert "you have MemFS" in shown(found)
    assert "the brief" in shown(found)


def test_only_steps_of_the_active_context_can_be_kept():
    with pytest.raises(ValueError, match=r"active context \(\[\]\), got turn 4"):
        window().open("brief", Replace(keep=[Kept(4)]))


def test_what_does_not_fit_is_cut_steps_first_then_the_note():
    found = window()
    say(found, 0, "first", "x" * 100)
    say(found, 1, "second", "y" * 100)
    plan = Replace(note="n" * 380, keep=[Kept(0), Kept(1)])
    assert found.room("the brief", plan) < 0 < found.room("the brief", Replace())
    found.open("the brief", plan)
    assert [step.turn for step in found.steps()] == [1]
    found.open("the brief", Replace(note="n" * 5000))
    assert len(found.ids) <= ROLLOUT.prompt_tokens
    with pytest.raises(InfrastructureFault, match="fixed instructions take"):
        found.open("b" * 700)


def test_whole_observations_end_the_episode_where_others_are_cut():
    found = window(prompt_tokens=130)
    say(found, 0, "look", None)
    assert found.show("z" * 119, whole=True) is None
    assert found.show("z" * 119, "reminder") is not None


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=200), st.booleans()), max_size=6), st.data())
def test_any_plan_fits_and_repeats_what_was_sampled(steps, data):
    found = window()
    for turn, (text, reply, ended) in enumerate(steps):
        if turn and found.pressed(reply):
            break
        say(found, turn, text, reply, ended)
    turns = [step.turn for step in found.steps()]
    keep = [
        Kept(turn, response=data.draw(st.booleans()), reply=data.draw(st.none() | st.text(max_size=50)))
        for turn in turns
        if data.draw(st.booleans())
    ]
    found.open("the brief", Replace(note=data.draw(st.text(max_size=300)), keep=keep))
    assert len(found.ids) <= ROLLOUT.prompt_tokens
    say(found, len(steps), "after", None)
    assert found.segments()[-1].turns == (len(steps),)
    kept = {step.turn: step.response for step in found.steps()[:-1]}
    assert all(kept[item.turn] in (steps[item.turn][0] if item.response else "",) for item in keep if item.turn in kept)
