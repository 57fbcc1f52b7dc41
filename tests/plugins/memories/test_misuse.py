"""Every memory, misused in a whole episode of the real loop: errors are observations, and what was kept stays."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from camg.episode.actions import BRACKET
from camg.episode.recording import from_json, to_json
from camg.plugins import load_registry
from camg.protocols import Memory
from camg.specs import resolve
from camg.testing import play
from camg.types import Episode, Tool
from camg_shop.demonstrator import PERFECT, pocket_script
from camg_shop.environment import Shop

WIDE = {"prompt_tokens": 1 << 22, "response_tokens": 1 << 18}
TOOLS = {
    "agemem": {"dialect": "policy"},
    "agemem, own envelope": {"dialect": "own"},
    "memory-tool": {},
    "apply-patch": {},
    "prolong": {},
    "shell": {},
    "shell, one file": {"continuation_only": "always"},
}
SUMMARIES = ("compaction", "auto-summary", "overwrite")
TEXTS = (
    "",
    " \n",
    "../../etc/passwd",
    "é\u202e\x00\x1b[2J",
    "<|end|><|assistant|>",
    "</tool_call><answer>",
)
OTHER = (7, -1, 1e99, None, True, [], {"a": {"b": []}})
RECALL = {"agemem": ("Retrieve_memory", {"query": "1=kept", "top_k": 10})}  # others were kept since


def build(label: str, options: dict[str, str]) -> Memory:
    registry = load_registry(quiet=True)
    name = label.partition(",")[0]
    return registry.build("memory", name, registry.spec("memory", name).config(**options))


def calls(tools: tuple[Tool, ...], memory: Memory) -> Iterator[str]:
    """Raw responses: each tool with each wrong value in each of its parameters, unknown names, and malformed texts."""
    dialect = getattr(memory, "dialect", None) or BRACKET
    for tool in tools:
        names = [parameter.name for parameter in tool.parameters]
        for name in names:
            for value in (*TEXTS, *OTHER):
                yield _render(dialect, tool.name, {**dict.fromkeys(names, "x"), name: value})
        yield _render(dialect, tool.name, dict.fromkeys(names, "x" * 20_000))
        yield _render(dialect, tool.name, {})
        yield _render(dialect, tool.name, {"unknown": "x"})
        yield from (
            tool.name,
            f"{tool.name}[",
            f"{tool.name}[[1]]",
            f'{tool.name}[{{"a": 1',
            f"{tool.name}: ",
            f"{tool.name}[{{}}]",
        )
    yield from (
        "",
        "\ud800",
        "<think>",
        "<tool_call>[]</tool_call>",
        '<tool_call>[{"name": 3}]</tool_call>',
        "[" * 5_000,
    )


def _render(dialect, name, arguments) -> str:
    try:
        return dialect.render(name, arguments)
    except (TypeError, ValueError, AttributeError):  # what the dialect cannot even write
        return f"{name}[{json.dumps(arguments)}]"


def survives(episode: Episode) -> None:
    assert from_json(to_json(episode)) == episode
    assert episode.fault is None


@pytest.mark.parametrize(("label", "options"), TOOLS.items(), ids=TOOLS.keys())
def test_tools_are_misused_and_the_note_is_still_there(label, options):
    memory, shop = build(label, options), Shop()
    habit = resolve(load_registry(quiet=True).spec("memory", label.partition(",")[0]).habit)()
    dialect = getattr(memory, "dialect", None) or BRACKET
    shell = Tool("shell_command", "", ())
    keep, recall = habit.keep("1=kept"), RECALL.get(label.partition(",")[0]) or habit.recall()
    wrong = list(calls((*memory.tools, shell), memory))
    said = [dialect.render(*keep), *wrong, dialect.render(*recall)]
    rest = iter(said)
    task = shop.task_ids("pocket")[0]
    episode = play(shop, memory, lambda task, seed: lambda context: next(rest, "stop"), task, actions=len(said), **WIDE)
    survives(episode)
    assert len(episode.turns) == len(said)
    shown = [turn.observation.shown for turn in episode.turns]
    assert "1=kept" in shown[-1], shown[-1][:300]
    for turn, text in zip(episode.turns, shown, strict=True):
        assert text.strip(), turn.text[:200]
        assert len(text) < 100_000
    assert sum(turn.invalid or "rror" in text for turn, text in zip(episode.turns, shown, strict=True)) > len(said) / 3


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize(
    "answer", ["x" * 20_000, *TEXTS, "\ud800", "<think>never ends", "<think>a</think>b", "notes: {x} {0}", "sum up:"]
)
def test_a_summary_may_be_anything(name, answer):
    """The policy answers every request for a summary with the same nonsense; the episode ends as episodes do."""
    memory, shop = build(name, {}), Shop()
    habit = resolve(load_registry(quiet=True).spec("memory", name).habit)()

    def script_of(task, seed):
        inner = pocket_script(task, seed, BRACKET, PERFECT, habit)
        return lambda context: answer if habit.asked(context) else inner(context)

    episode = play(shop, memory, script_of, shop.task_ids("pocket")[0], **WIDE)
    survives(episode)
    assert episode.replacements
    assert episode.outcome.success >= 1 / 3  # the first purchase needs no memory
