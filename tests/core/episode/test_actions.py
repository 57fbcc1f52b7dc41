"""Dialects: strict, round-trip, and every fault class reached."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.episode.actions import BRACKET, DIALECTS, FAULTS, NATIVE
from camg.types import Parameter, Tool

TOOLS = (
    Tool("search", "Search.", (Parameter("keywords", "what"),)),
    Tool("visit", "Visit.", (Parameter("url", "where"), Parameter("goal", "why"))),
    Tool("submit", "Submit."),
    Tool("shell_command", "Run bash.", (Parameter("command", "what"),), filesystem=True),
)
text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1)


def test_bracket_call_after_reasoning():
    action = BRACKET.parse("I need a mug.\nsearch[red mug]", TOOLS)
    assert (action.tool, dict(action.arguments), action.fault) == ("search", {"keywords": "red mug"}, None)


def test_bracket_heredoc_is_one_action_and_keeps_its_text():
    command = "cat > f <<'EOF'\nsearch[not a call]\nshell_command: neither\nEOF"
    action = BRACKET.parse(f"note it\nshell_command: {command}", TOOLS)
    assert action.arguments == {"command": command}


def test_native_reads_both_forms_and_ignores_thoughts():
    xml = "<think>\n<tool_call>draft</tool_call></think>" + NATIVE.render("visit", {"url": "u", "goal": "a\nb"})
    assert NATIVE.parse(xml, TOOLS).arguments == {"url": "u", "goal": "a\nb"}
    hermes = '<tool_call>\n{"name": "search", "arguments": {"keywords": "x"}}\n</tool_call>'
    assert NATIVE.parse(hermes, TOOLS).arguments == {"keywords": "x"}


@pytest.mark.parametrize(
    ("dialect", "response", "fault"),
    [
        ("bracket", " \n", "empty"),
        ("bracket", "let me think", "no_action"),
        ("bracket", "search[a]\nsearch[b]", "several_actions"),
        ("bracket", "search[a]\nshell_command: ls", "several_actions"),
        ("bracket", "search[a]\nand then some", "trailing_text"),
        ("bracket", "fly[away]", "unknown_tool"),
        ("bracket", "search[]", "bad_arguments"),
        ("bracket", "visit[here]", "bad_arguments"),
        ("bracket", 'visit[{"url": 1, "goal": "x"}]', "bad_arguments"),
        ("bracket", "submit[now]", "bad_arguments"),
        ("bracket", "shell_command:", "bad_arguments"),
        ("native", "", "empty"),
        ("native", "</think>", "no_action"),
        ("native", "<tool_call>\n<function=search>", "no_action"),
        ("native", NATIVE.render("submit", {}) * 2, "several_actions"),
        ("native", NATIVE.render("submit", {}) + "ok", "trailing_text"),
        ("native", NATIVE.render("fly", {}), "unknown_tool"),
        ("native", NATIVE.render("search", {}), "bad_arguments"),
        ("native", "<tool_call>nonsense</tool_call>", "bad_arguments"),
        ("native", '<tool_call>{"name": "search", "arguments": "x"}</tool_call>', "bad_arguments"),
        (
            "native",
            "<tool_call><function=search><parameter=keywords>a</parameter><parameter=keywords>b</parameter>"
            "</function></tool_call>",
            "bad_arguments",
        ),
    ],
)
def test_faults_are_classified_and_explained(dialect, response, fault):
    action = DIALECTS[dialect].parse(response, TOOLS)
    assert action.tool is None
    assert action.fault == fault
    assert action.fault in FAULTS
    assert action.fault_detail
    assert action.raw == response


@given(text)
def test_bracket_round_trip(value):
    for tool, arguments in (("search", {"keywords": value}), ("visit", {"url": value, "goal": "g"})):
        action = BRACKET.parse(BRACKET.render(tool, arguments), TOOLS)
        assert (action.tool, action.arguments) == (tool, arguments), action
    action = BRACKET.parse(BRACKET.render("shell_command", {"command": value}), TOOLS)
    assert action.arguments == {"command": value}


@given(text.filter(lambda value: "<" not in value))
def test_native_round_trip(value):
    action = NATIVE.parse(NATIVE.render("shell_command", {"command": value}), TOOLS)
    assert action.arguments == {"command": value}


@given(st.text(), st.sampled_from(sorted(DIALECTS)))
def test_any_text_gives_an_action(response, dialect):
    action = DIALECTS[dialect].parse(response, TOOLS)
    assert (action.tool is None) != (action.fault is None)


@given(
    st.lists(st.sampled_from(["search[", "]", "shell_command:", "{", '"', "\n", "<tool_call>", "</tool_call>", "x"]))
)
def test_call_shaped_nonsense_gives_an_action(pieces):
    for dialect in DIALECTS.values():
        action = dialect.parse("".join(pieces), TOOLS)
        assert (action.tool is None) != (action.fault is None)


TYPED = (
    Tool(
        "find",
        "Find.",
        (
            Parameter("query", "what"),
            Parameter("top", "how many", kind="integer", required=False),
            Parameter("where", "filter", kind="object", required=False),
        ),
    ),
    Tool("drop", "Drop.", (Parameter("id", "which"), Parameter("sure", "really", kind="boolean"))),
    Tool("put", "Write.", (Parameter("path", "where"), Parameter("text", "what", empty=True))),
    Tool("apply_patch", "Patch.", (Parameter("input", "the patch"),), filesystem=True),
)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("find", {"query": "a"}),
        ("find", {"query": "a", "top": 3}),
        ("find", {"query": '{"not": "arguments"}', "where": {"kind": ["x"], "n": 1.5}}),
        ("drop", {"id": "7", "sure": False}),
        ("put", {"path": "p", "text": ""}),
        ("apply_patch", {"input": "*** Begin Patch\nfind[x]\n*** End Patch"}),
    ],
)
def test_typed_arguments_survive_the_round_trip(dialect, tool, arguments):
    action = DIALECTS[dialect].parse(DIALECTS[dialect].render(tool, arguments), TYPED)
    assert (action.tool, action.arguments) == (tool, arguments), action
    assert [type(value) for value in action.arguments.values()] == [type(value) for value in arguments.values()]


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("find", {"query": "a", "top": "many"}, "integer"),
        ("find", {"query": "a", "top": True}, "integer"),
        ("find", {"query": "a", "where": [1]}, "object"),
        ("find", {"top": 3}, "find expects (query, top: integer?, where: object?)"),
        ("drop", {"id": "7", "sure": 1}, "boolean"),
        ("drop", {"id": "", "sure": True}, "non-empty string"),
        ("drop", {"id": "7", "sure": True, "more": "x"}, "drop expects (id, sure: boolean)"),
    ],
)
def test_arguments_of_another_kind_are_refused_with_what_was_expected(dialect, tool, arguments, words):
    action = DIALECTS[dialect].parse(DIALECTS[dialect].render(tool, arguments), TYPED)
    assert action.fault == "bad_arguments"
    assert words in action.fault_detail


def test_a_string_may_stand_for_the_one_argument_that_is_needed():
    assert BRACKET.parse("find[red mug]", TYPED).arguments == {"query": "red mug"}


def test_descriptions_name_kinds_and_what_may_be_left_out():
    text = BRACKET.describe(TYPED)
    assert 'drop[{"id": "…", "sure": "<boolean>"}]' in text
    assert "(optional: top: integer, where: object)" in text
    assert "apply_patch: INPUT" in text
