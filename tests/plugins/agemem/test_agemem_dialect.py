"""AgeMem's envelope: what it accepts, how it names each fault, and that parse undoes render."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camg.episode.actions import BRACKET
from camg.types import Parameter, Tool
from camg_agemem.dialect import AgeMemDialect
from camg_agemem.tools import tools

OWN = AgeMemDialect()
TOOLS = (*tools(aliases=False), Tool("shell_command", "run", (Parameter("command", "it"),), filesystem=True))
ANSWERING = (*TOOLS, Tool("answer", "end", (Parameter("text", "the answer"),)))
CALL = '<tool_call>[{"name": "Retrieve_memory", "arguments": {"query": "q"}}]</tool_call>'


@pytest.mark.parametrize("thought", ["<think>hm</think>", "<think>a <tool_call> b</think>\n", "hm</think>", "", "\n "])
def test_a_call_after_a_thought_of_any_form(thought):
    action = OWN.parse(thought + CALL + "\n", TOOLS)
    assert action.tool == "Retrieve_memory"
    assert action.arguments == {"query": "q"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (" \n", "empty"),
        ("I will retrieve.", "no_action"),
        ("Now: " + CALL, "no_action"),
        ("<think>hm " + CALL, "no_action"),
        ("<think>a</think> so " + CALL, "no_action"),
        (CALL.removesuffix("</tool_call>"), "no_action"),
        (CALL + " done", "trailing_text"),
        (CALL + CALL, "several_actions"),
        (CALL + "<answer>5</answer>", "several_actions"),
        (CALL.replace("}]", '}, {"name": "x"}]'), "several_actions"),
        (CALL.replace("[{", "{").replace("}]", "}"), "bad_arguments"),
        ("<tool_call>[]</tool_call>", "bad_arguments"),
        ("<tool_call>[1]</tool_call>", "bad_arguments"),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", "bad_arguments"),
        ("<tool_call>Retrieve_memory</tool_call>", "bad_arguments"),
        (CALL.replace('"q"', "7"), "bad_arguments"),
        (CALL.replace('"query"', '"q"'), "bad_arguments"),
        (CALL.replace('"name"', '"id": 1, "name"'), "bad_arguments"),
        (CALL.replace("Retrieve_memory", "Recall"), "unknown_tool"),
        ("<answer>5</answer>", "unknown_tool"),
        ("<answer>5", "no_action"),
        ("<answer>5</answer><answer>6</answer>", "several_actions"),
    ],
)
def test_faults_have_names(text, fault):
    action = OWN.parse(text, TOOLS)
    assert action.fault == fault, action
    assert action.fault_detail
    assert action.raw == text


def test_an_answer_ends_tasks_that_have_such_a_tool():
    action = OWN.parse("<think>so</think><answer> Market Square </answer>", ANSWERING)
    assert (action.tool, action.arguments) == ("answer", {"text": "Market Square"})
    assert "one of its tools" in OWN.parse("<answer>5</answer>", TOOLS).fault_detail
    assert OWN.parse("<answer></answer>", ANSWERING).fault == "bad_arguments"
    assert "<answer>" in OWN.describe(ANSWERING)
    assert "<answer>" not in OWN.describe(TOOLS)


@given(content=st.text(min_size=1), more=st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_parse_undoes_render(content, more):
    arguments = {"content": content, "metadata": more}
    action = OWN.parse(OWN.render("Add_memory", arguments), TOOLS)
    assert (action.tool, action.arguments) == ("Add_memory", arguments)


@pytest.mark.parametrize("nasty", ["</tool_call>", "</think><tool_call>[]", "<answer>x</answer>", "\udcff", "\x00"])
def test_envelope_tokens_in_an_argument_are_content(nasty):
    action = OWN.parse(OWN.render("shell_command", {"command": nasty}), TOOLS)
    assert action.arguments == {"command": nasty}
    body = json.dumps([{"name": "shell_command", "arguments": {"command": nasty}}])
    assert OWN.parse(f"<think></think><tool_call>{body}</tool_call>", TOOLS).arguments == {"command": nasty}


PIECES = [*'[]{}":,a1 ', "<think>", "</think>", "<tool_call>", "</tool_call>", "<answer>", "</answer>", '[{"name": "']


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_never_raises(text):
    action = OWN.parse(text, ANSWERING)
    assert (action.tool is None) == (action.fault is not None)


@pytest.mark.parametrize(("depth", "fault"), [(60, None), (500, "bad_arguments"), (900, "bad_arguments")])
def test_arguments_are_not_nested_without_end(depth, fault):
    nested = '{"a": ' * depth + "1" + "}" * depth
    text = f'<tool_call>[{{"name": "Add_memory", "arguments": {{"content": "x", "metadata": {nested}}}}}]</tool_call>'
    assert OWN.parse(text, TOOLS).fault == fault
    assert BRACKET.parse(f'Add_memory[{{"content": "x", "metadata": {nested}}}]', TOOLS).fault == fault
