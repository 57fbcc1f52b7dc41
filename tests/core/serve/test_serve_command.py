"""``camg serve`` as a process, over the embedded policy, and the voice behind it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from camg.cli import run_cli
from camg.plugins import load_registry
from camg.serve import ChatRequest, Refusal, Voice
from camg.types import Message, Sampling

CAMG = str(Path(sys.executable).with_name("camg"))


@pytest.fixture(scope="module")
def voice():
    policy = load_registry(quiet=True).build("policy", "pocket")
    found = Voice(policy, sampling=Sampling(), prompt_tokens=64, response_tokens=16)
    yield found
    found.close()


def chat(text="Buy 1/3: want=red", **fields):
    return ChatRequest((Message("user", text),), **fields)


def test_a_voice_keeps_its_limits(voice):
    answer = voice(chat())
    assert 0 < answer.completion_tokens <= 16
    assert answer.prompt_tokens > 3
    assert voice(chat(limit=2)).completion_tokens <= 2
    assert voice(chat(limit=10_000)).completion_tokens <= 16
    with pytest.raises(Refusal, match="at most 64 tokens, got") as refused:
        voice(chat("word " * 200))
    assert refused.value.code == "context_length_exceeded"


def test_seeds_make_answers_repeatable(voice):
    assert voice(chat(seed=4)) == voice(chat(seed=4))
    assert len({voice(chat(seed=seed)).text for seed in range(12)}) > 1
    assert len({voice(chat(temperature=0.0)).text for _ in range(4)}) == 1
    assert len({voice(chat()).text for _ in range(12)}) > 1  # without one, each has the next


def test_only_so_many_ways_to_sample():
    policy = load_registry(quiet=True).build("policy", "pocket")
    voice = Voice(policy, sampling=Sampling(), prompt_tokens=64, response_tokens=4)
    for temperature in (0.0, 0.5, 0.7):
        voice(chat(temperature=temperature))
    with pytest.raises(Refusal, match="at most 4 ways"):
        voice(chat(temperature=0.9))
    voice(chat(temperature=0.5))
    voice.close()


@pytest.fixture
def serving(tmp_path):
    """Starts ``camg serve --json``; the process and what it said."""
    running: list[subprocess.Popen[str]] = []

    def start(*options: str):
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [CAMG, "serve", "--json", *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=tmp_path, env=env, text=True, **pipes)
        running.append(process)
        assert process.stdout is not None
        lines = []
        while not (lines and lines[-1].startswith("}")):
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            lines.append(line)
        return process, json.loads("".join(lines))

    yield start
    for process in running:
        process.kill()
        process.communicate()


def post(address, body):
    request = urllib.request.Request(address + "/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_policy_is_served_until_it_is_told_to_stop(serving, ending):
    process, said = serving("--policy", "pocket", "--model", "mine", "--seed", "3")
    assert said["model"] == "mine"
    reply = post(said["address"], {"model": "mine", "messages": [{"role": "user", "content": "Buy"}], "max_tokens": 5})
    assert reply["usage"]["completion_tokens"] <= 5
    process.send_signal(ending)
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--host", "0.0.0.0"], "give a --key"),
        (["--version", "3"], "--version goes with --checkpoint"),
        (["--untrained"], "--untrained goes with --checkpoint"),
        (["--checkpoint", "nowhere"], "nowhere"),
        (["--port", "70000"], "70000"),
        (["--policy", "pockt"], "pocket"),
    ],
)
def test_what_cannot_be_served_is_one_clear_error(options, reason, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_cli(["serve", *options]) != 0
    out, err = capsys.readouterr()
    assert reason in err
    assert "Traceback" not in out + err
