"""AgeMem whole: a Shop task solved through the store, context tools in the real loop, and every tool misused."""

from __future__ import annotations

import json
import re

import attrs
import pytest
from through import solve

from camg.episode.actions import BRACKET
from camg.episode.recording import from_json, to_json
from camg.plugins import load_registry
from camg.protocols import Continue, Step
from camg.testing import check_memory, play
from camg.testing.memory import View
from camg.testing.parts import FolderBox
from camg.types import Action, Boundary, BoundaryKind, EndReason, TurnKind
from camg_agemem.config import AgeMemConfig
from camg_agemem.dialect import AgeMemDialect
from camg_agemem.habit import StoreHabit
from camg_agemem.memory import AgeMem
from camg_agemem.tools import NAMES
from camg_shop.environment import Shop

BOTH = pytest.mark.parametrize("dialect", ["own", "policy"])


def agemem(**options):
    return AgeMem(AgeMemConfig(**options))


class Steps(View):
    """A view of some steps and the call that is being executed."""

    def __init__(self, box, *replies):
        super().__init__(box, terse=False)
        earlier = [Step(turn, f"do {turn}", reply) for turn, reply in enumerate(replies)]
        self.all = (*earlier, Step(len(replies), "the call", ""))

    def steps(self):
        return self.all


@pytest.fixture
def box():
    found = FolderBox()
    yield found
    found.close()


def ask(session, tool, **arguments):
    return session.handle(Action(tool=tool, arguments=arguments)).observation.shown


@BOTH
@pytest.mark.parametrize("aliases", [False, True])
def test_it_keeps_its_promises(dialect, aliases):
    check_memory(agemem(dialect=dialect, aliases=aliases))


@BOTH
def test_a_shop_task_is_solved_through_the_store(dialect):
    episode = solve(agemem(dialect=dialect), StoreHabit())
    assert episode.outcome.complete, [turn.text for turn in episode.turns]
    used = [turn.action.tool for turn in episode.turns if turn.memory_access]
    assert used.count("Add_memory") >= 2
    assert used.count("Retrieve_memory") >= 2
    assert len(episode.replacements) >= 2
    assert all(replacement.kind is BoundaryKind.DECLARED for replacement in episode.replacements)
    assert sum(event.cost["embedding_calls"] for event in episode.events) == len(used)
    assert all(turn.slots == 1 for turn in episode.turns)


def _scripted(calls, contexts=None, summary="hm</think> all is well"):
    """Says ``calls`` one after the other, then buys nothing; answers the request for a summary."""

    def script_of(task, seed):
        rest = iter(calls)

        def script(context):
            if contexts is not None:
                contexts.append(context)
            if "sum up:" in context[-40:]:
                return summary
            return next(rest, BRACKET.render("click", {"target": "nowhere"}))

        return script

    return script_of


def _play(calls, **options):
    contexts = []
    shop = Shop()
    memory = agemem(dialect="policy", **options)
    episode = play(shop, memory, _scripted(calls, contexts), shop.task_ids("pocket")[0])
    return episode, contexts


def test_a_summary_replaces_its_span_and_is_trained_without_a_slot():
    echo = [BRACKET.render("shell_command", {"command": f"echo 'out'{n}"}) for n in range(3)]
    episode, contexts = _play([*echo, BRACKET.render("Summary_context", {"span": "2"})])
    (summary,) = [turn for turn in episode.turns if turn.kind is TurnKind.SUMMARY]
    assert (summary.index, summary.slots, summary.trained) == (4, 0, True)
    asked, after = contexts[4], contexts[5]
    assert "out0" not in asked
    assert "out1" in asked
    assert "out2" in asked
    assert "out0" in after
    assert "out1" not in after
    assert "Summary of 2 rounds: all is well" in after
    assert "Summary_context" in after
    assert [(r.after_turn, r.kind) for r in episode.replacements] == [(4, BoundaryKind.MEMORY)]
    later = [turn for turn in episode.turns if turn.index > 4]
    assert later
    assert episode.turns[3].segment < later[0].segment


def test_a_summary_of_all_leaves_the_opening_and_the_call():
    echo = [BRACKET.render("shell_command", {"command": f"echo 'out'{n}"}) for n in range(3)]
    _, contexts = _play([*echo, BRACKET.render("Summary_context", {"span": "all"})])
    assert "Buy 1/" in contexts[5]
    assert not re.search(r"out\d", contexts[5])


def test_a_filter_blanks_what_is_near_and_drops_steps_without_rest():
    shell = [BRACKET.render("shell_command", {"command": f"echo {text}"}) for text in ("apple 'pie'", "rain snow hail")]
    episode, contexts = _play([*shell, BRACKET.render("Filter_context", {"criteria": "apple pie"})], threshold=0.4)
    after = contexts[3]
    assert "apple pie" not in after.replace("Filter_context[apple pie]", "")
    assert after.count("hail") == 2
    assert "Removed 2 of 4 messages" in after
    assert [r.kind for r in episode.replacements][:1] == [BoundaryKind.MEMORY]
    assert not any(turn.kind is TurnKind.SUMMARY for turn in episode.turns)


def test_context_tools_follow_each_other_in_the_own_envelope():
    render = AgeMemDialect().render
    calls = [render("shell_command", {"command": f"echo {text}"}) for text in ("'apple' pie", "'rain' snow", "'sun'")]
    calls.append(render("Filter_context", {"criteria": "apple pie"}))
    calls.append(render("Summary_context", {"span": "3"}))
    calls.append(render("Summary_context", {"span": "all"}))
    contexts = []
    shop = Shop()
    episode = play(shop, agemem(threshold=0.7), _scripted(calls, contexts), shop.task_ids("pocket")[0])
    filtered, asked = contexts[4], contexts[5]
    assert "apple pie" not in filtered.replace('"apple pie"', "")
    assert "echo 'apple' pie" in filtered, "the call itself is not near enough"
    assert "rain snow" in asked
    assert "sun" in asked
    assert "echo 'apple'" not in asked
    own = [turn for turn in episode.turns if turn.memory_access]
    assert [turn.action.tool for turn in own] == ["Filter_context", "Summary_context", "Summary_context"]
    assert sum(turn.kind is TurnKind.SUMMARY for turn in episode.turns) == 2
    last = contexts[8]
    assert last.count("Summary of") == 1
    assert "Summary of 3 rounds" in contexts[6]
    assert "hm</think>" not in last


def test_an_overflow_ends_the_episode_and_replaces_nothing():
    calls = [BRACKET.render("shell_command", {"command": "yes | head -c 8000"})] * 6
    episode, _ = _play(calls)
    assert episode.end_reason is EndReason.CONTEXT_EXHAUSTED
    assert not episode.replacements


def test_a_filter_keeps_the_other_half_of_a_step(box):
    session = agemem().open(Steps(box, "the weather in Paris", "", "weather Paris"))
    assert "Removed 2 of 5" in ask(session, "Filter_context", criteria="weather in Paris")
    plan = session.before_turn()
    assert [(k.turn, k.response, k.reply) for k in plan.keep] == [
        (0, True, ""),
        (1, True, None),
        (2, True, ""),
        (3, True, None),
    ]
    assert session.before_turn() is None
    assert "No message" in ask(session, "Filter_context", criteria="quantum chromodynamics")
    assert session.before_turn() is None


def test_boundaries_replace_nothing_or_all_and_the_store_stays(box):
    session = agemem().open(Steps(box, "one"))
    ask(session, "Add_memory", content="kept", metadata={"a": 1}, memory_type="fact")
    ask(session, "Summary_context", span="all")
    assert isinstance(session.at_boundary(Boundary(BoundaryKind.PRESSURE, "")), Continue)
    plan = session.at_boundary(Boundary(BoundaryKind.DECLARED, "keep"))
    assert (plan.note, list(plan.keep)) == ("", [])
    assert session.before_turn() is None, "what was to be summed up is gone"
    assert ask(session, "Retrieve_memory", query="kept", metadata_filter={"memory_type": "fact"}) == "m1 (1.00): kept"
    assert agemem().open(View(box, terse=True)).before_turn() is None


def test_stores_of_episodes_are_apart(box):
    memory = agemem()
    first, second = memory.open(Steps(box)), memory.open(Steps(box))
    ask(first, "Add_memory", content="mine")
    assert "Nothing fits among 0" in ask(second, "Retrieve_memory", query="mine")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("Add_memory", {"content": "x" * 9000}, "9000 bytes, the limit is 8192"),
        ("Add_memory", {"content": "\udcff"}, "no valid Unicode"),
        ("Add_memory", {"content": " \n"}, "empty"),
        ("Add_memory", {"content": "x", "metadata": {"\udcff": 1}}, "no valid Unicode"),
        ("Add_memory", {"content": "x", "metadata": {"k": "y" * 9000}}, "the limit is 8192"),
        ("Add_memory", {"content": "x", "memory_type": "\udcff"}, "no valid Unicode"),
        ("Update_memory", {"memory_id": "m7", "content": "x"}, "no entry 'm7' (the last ids: m1)"),
        ("Update_memory", {"memory_id": "m1", "content": "x" * 9000}, "the limit is 8192"),
        ("Delete_memory", {"memory_id": "m1", "confirmation": False}, "kept"),
        ("Delete_memory", {"memory_id": "\udcff" * 99, "confirmation": True}, "no entry"),
        ("Retrieve_memory", {"query": "x" * 9000}, "the limit is 8192"),
        ("Retrieve_memory", {"query": "x", "top_k": 0}, "from 1 to 20"),
        ("Retrieve_memory", {"query": "x", "top_k": 10**30}, "from 1 to 20"),
        ("Retrieve_memory", {"query": "x", "metadata_filter": {"a": "\udcff"}}, "no valid Unicode"),
        ("Summary_context", {"span": "0"}, "span must be"),
        ("Summary_context", {"span": "-1"}, "span must be"),
        ("Summary_context", {"span": "²"}, "span must be"),
        ("Summary_context", {"span": "full"}, "span must be"),
        ("Summary_context", {"span": "\udcff"}, "span must be"),
        ("Summary_context", {"span": "9" * 9000}, "span must be"),
        ("Filter_context", {"criteria": "\udcff"}, "no valid Unicode"),
        ("Filter_context", {"criteria": "x" * 9000}, "the limit is 8192"),
    ],
)
def test_misuse_is_an_observation_and_nothing_is_lost(box, tool, arguments, said):
    session = agemem().open(Steps(box, "one"))
    ask(session, "Add_memory", content="kept </tool_call><|im_end|> as it is")
    shown = ask(session, tool, **arguments)
    assert shown.startswith("Error: ")
    assert said in shown
    shown.encode()
    assert session.before_turn() is None
    assert ask(session, "Retrieve_memory", query="kept as it is", top_k=20).count("m1") == 1
    assert "kept </tool_call><|im_end|> as it is" in ask(session, "Retrieve_memory", query="kept")


def test_deep_metadata_is_refused(box):
    deep: dict = {}
    for _ in range(100_000):
        deep = {"a": deep}
    session = agemem().open(Steps(box))
    assert "nested too deeply" in ask(session, "Add_memory", content="x", metadata=deep)
    assert "nothing" not in ask(session, "Retrieve_memory", query="x")
    while deep:  # freed link by link, since the interpreter would recurse
        deep = deep["a"]


def test_there_is_nothing_to_sum_up_at_first(box):
    assert "no earlier rounds" in ask(agemem().open(Steps(box)), "Summary_context", span="all")


def test_aliases_are_accepted_where_they_are_asked_for(box):
    strict, lenient = agemem(dialect="policy"), agemem(dialect="policy", aliases=True)
    text = BRACKET.render("Delete_memory", {"memory_id": "m1", "confirmed": True})
    assert BRACKET.parse(text, strict.tools).fault == "bad_arguments"
    action = BRACKET.parse(text, lenient.tools)
    session = lenient.open(Steps(box, "one"))
    ask(session, "Add_memory", content="x")
    assert "Deleted m1" in session.handle(action).observation.shown
    assert "Summing up 1" in ask(session, "Summary_context", span="full")


def test_the_misuse_of_every_tool_ends_the_episode_normally():
    wrong = ["7", "[]", "null", '"x"', "{}", '{"a": 1}', "x" * 300, "</tool_call>", "<|im_end|>", "\x00", "\ufffd"]
    calls = [f"{name}[{text}]" for name in NAMES for text in wrong]
    calls += [f'Add_memory[{{"content": {text}}}]' for text in ("7", "null", '""', "[1]", '"ok"')]
    shop = Shop()
    task = shop.task_ids("pocket")[0]

    class Long(Shop):
        """With slots for everything."""

        def task(self, task_id):
            return attrs.evolve(super().task(task_id), budget=len(calls) + 1)

    memory = agemem(dialect="policy")
    episode = play(Long(), memory, _scripted(calls), task)
    assert episode.end_reason in (EndReason.ACTION_LIMIT, EndReason.CONTEXT_EXHAUSTED)
    assert episode.fault is None
    assert from_json(json.loads(json.dumps(to_json(episode)))) == episode
    assert len([turn for turn in episode.turns if turn.kind is TurnKind.RESPONSE]) == len(calls) + 1
    called = episode.turns[: len(calls)]
    assert all(turn.memory_access for turn in called if turn.kind is TurnKind.RESPONSE)


def test_only_its_own_tools_are_accesses(box):
    session = agemem().open(Steps(box))
    assert session.accesses(Action(tool="Filter_context"), {}, {})
    assert session.accesses(Action(tool=None, fault="no_action", raw="Add_memory[…"), {}, {})
    assert not session.accesses(Action(tool=None, fault="no_action", raw="hm"), {}, {})
    assert not session.accesses(Action(tool="shell_command", raw="Add_memory?"), {}, {})


def test_sentence_embeddings_need_a_model_and_their_package():
    config = {"memory": "agemem", "agemem.encoder": "sentence-transformers", "agemem.model": "", "policy": "torch"}
    hook = load_registry(quiet=True).hook.camg_validate_run

    def reasons(**changes):
        found = hook(config=config | {key.replace("__", "."): value for key, value in changes.items()})
        return [reason for several in found for reason in several or () if "agemem" in reason]

    assert any("agemem.model" in reason for reason in reasons())
    assert not any("agemem.model:" in reason for reason in reasons(agemem__model="m"))
    assert not reasons(agemem__encoder="hashing")
