"""Run a repository's tests in a box, and believe the result only if everything fits.

The box's processes belong to whoever wrote the code under test. What makes a result believable:

* it comes in a line with a nonce that no process of the project ever held (:mod:`camg_coding.grading.harness`);
* tests with random names that must fail, err or be skipped stand among the real ones, and did not pass;
* pytest's exit status, the process's exit status and the outcomes agree;
* the code of pytest, pluggy, unittest and of the tests is the same after the run (:mod:`...integrity`).

Python gives no isolation within a process: code that knows all of this could still forge a result. It would have to
be written for this module, by an author who never sees it run.
"""

from __future__ import annotations

import binascii
import os
import random
import secrets
import shlex
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from attrs import evolve, frozen

from camg.protocols import Box
from camg.types import CommandResult, Limits
from camg_coding.config import PACKAGES
from camg_coding.records import Profile

OUTCOMES = frozenset(("passed", "failed", "skipped", "xfailed", "xpassed", "error"))
OUTPUT = 32 << 10  # bytes of a run's output that are kept
_EVENTS = 64 << 20  # bytes of events, uncompressed
_WORDS = (
    *("basic", "empty", "single", "nested", "default", "order", "keys", "items", "repeat", "mixed"),
    *("unicode", "large", "small", "reset", "limits", "format"),
)
_ENDS = {2: "it was interrupted", 3: "pytest failed", 4: "pytest refused to start"}
_KINDS = ("fail", "raise", "error", "skip")
_VARIABLES = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@frozen
class SuiteResult:
    """What a run of a suite showed.

    ``complete``: the results can be believed and nothing cut the run short; else ``reason`` says why not, and
    ``outcomes`` (test id -> outcome) holds what was seen until then. ``output``: the end of what was printed.
    """

    outcomes: Mapping[str, str]
    complete: bool
    reason: str = ""
    seconds: float = 0.0
    output: str = ""

    @property
    def passed(self) -> frozenset[str]:
        """Ids of the tests that passed; none unless the run is complete."""
        return frozenset(test for test, outcome in self.outcomes.items() if self.complete and outcome == "passed")


def grading_limits(seconds: float) -> Limits:
    """The limits of a box in which a suite may run for ``seconds``."""
    return Limits(
        wall_seconds=seconds,
        cpu_seconds=seconds + 1,
        processes=256,
        memory_bytes=2 << 30,
        output_bytes=8 << 20,
        written_bytes=512 << 20,
    )


def run_suite(
    box: Box, profile: Profile, tests: Sequence[str] = (), *, wall_seconds: float | None = None
) -> SuiteResult:
    """Run ``tests`` (node ids, files or folders; empty: the profile's) over the tree in ``box``.

    ``wall_seconds``: instead of the profile's time limit; the box's CPU limit should fit (:func:`grading_limits`).
    Raises :class:`InfrastructureFault` only if the box is gone.
    """
    limit = profile.timeout if wall_seconds is None else wall_seconds
    canaries = _canaries(1 if profile.runner == "plain" else 4)
    folder, nonce = f".{secrets.token_hex(8)}", secrets.token_hex(32)
    job = {
        "tests": list(tests or profile.tests),
        "roots": list(profile.roots),
        "packages": [PACKAGES],
        "arguments": list(profile.arguments),
        "canaries": canaries,
        "seed": secrets.randbits(64),
        **_program(profile.runner),
    }
    try:
        for name, text in (("harness.py", _source("harness")), ("job", repr(job)), ("nonce", nonce)):
            box.write(f"{folder}/{name}", text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        return SuiteResult({}, False, f"the harness could not be placed: {error}")
    flags = "-s -S -B" if profile.runner == "pytest" else "-I -S -B"
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in _VARIABLES.items())
    run = f"exec python {flags} {folder}/harness.py {folder}"
    command = f"unset PYTHONPATH PYTHONHOME; export {variables}; {run}"
    result = box.run(command, wall_seconds=limit)
    return judge(result, nonce, canaries, limit)


def _canaries(number: int) -> list[tuple[str, str]]:
    """(name, kind) of tests that must not pass; the first one fails."""
    chosen = random.SystemRandom()
    kinds = [_KINDS[0], *(chosen.choice(_KINDS) for _ in range(chosen.randint(number // 2, number) - 1))]
    return [("test_" + "_".join(chosen.sample(_WORDS, 3)) + f"_{chosen.randrange(1000)}", kind) for kind in kinds]


@cache
def _source(module: str) -> str:
    return resources.files(__package__).joinpath(f"{module}.py").read_text(encoding="utf-8")


def _program(runner: str) -> dict[str, object]:
    """The modules that the child executes, in order; ``main`` of the last one runs the job."""
    names = ["integrity", "inside"] if runner == "pytest" else ["plain"]
    return {
        "modules": [(f"{__package__}.{name}", _source(name)) for name in names],
        "site": runner == "pytest",
    }


def judge(result: CommandResult, nonce: str, canaries: Sequence[tuple[str, str]], limit: float) -> SuiteResult:
    """What a run's output is worth. ``limit``: its time limit in seconds, for the reason."""
    shown, _, line = result.output.rstrip(b"\n").rpartition(b"\n")
    output = shown[-OUTPUT:].decode("utf-8", "replace")
    fields = line.split(b" ")
    if len(fields) != 5 or fields[0] != nonce.encode():
        return SuiteResult({}, False, _why_no_record(result, limit), result.seconds, output)
    status = os.waitstatus_to_exitcode(int(fields[1]))
    outcomes, faults, ends = _read(fields[3], fields[4])
    names = {name for name, _ in canaries}
    seen = {test: outcome for test, outcome in outcomes if test.rpartition("::")[2] in names}
    real: dict[str, str] = {}
    for test, outcome in outcomes:
        if test not in seen:
            real[test] = outcome if real.get(test, outcome) == outcome else "failed"  # told twice, differently
    found = SuiteResult(real, False, seconds=result.seconds, output=output)
    if fields[2] != b"-":
        return evolve(found, reason="its output was a flood")
    if status < 0:
        return evolve(found, reason=f"the test process was killed by signal {-status}")
    if len(ends) != 1:
        return evolve(found, reason=f"the test process ended early, with status {status}")
    if faults:
        return evolve(found, reason=f"tampered with: {faults[0]}")
    if status != ends[0] or result.exit_status != status:
        return evolve(found, reason=f"it ended with status {status}, but reported {ends[0]}")
    if status not in (0, 1, 5):
        return evolve(found, reason=_ENDS.get(status, f"it ended with status {status}"))
    reason = _canary_fault(real, seen, names) or _status_fault(status, [*real.values(), *seen.values()])
    return evolve(found, complete=not reason, reason=reason)


def _why_no_record(result: CommandResult, limit: float) -> str:
    if result.timed_out:
        return f"it passed its time limit of {limit:g} s"
    return result.notices[0] if result.notices else f"it ended with status {result.exit_status} and without results"


def _read(encoding: bytes, data: bytes) -> tuple[list[tuple[str, str]], list[str], list[int]]:
    """(outcomes in order, faults, reported ends). Lines that fit no form are faults."""
    events = binascii.a2b_base64(data)
    if encoding == b"zlib":
        events = zlib.decompressobj().decompress(events, _EVENTS)
    outcomes, faults, ends = [], [], []
    for line in events.split(b"\n"):
        kind, _, rest = line.decode("ascii", "replace").partition(" ")
        word, _, name = rest.partition(" ")
        if kind == "t" and word in OUTCOMES:
            try:
                outcomes.append((name.encode("ascii").decode("unicode_escape"), word))
            except UnicodeError:
                faults.append("a test's name cannot be read")
        elif kind == "e" and rest.isdigit():
            ends.append(int(rest))
        elif line:
            faults.append(rest if kind == "x" else "the results have a line that nobody should have written")
    return outcomes, faults, ends


def _canary_fault(real: Mapping[str, str], seen: Mapping[str, str], names: set[str]) -> str:
    """Tests that must not pass were all run, and none passed (a run without tests has none)."""
    if any(outcome in ("passed", "xpassed") for outcome in seen.values()):
        return "forged: a test that must not pass was reported as passed"
    ran = {test.rpartition("::")[2] for test in seen}
    if ran != names and (ran or any("::" in test for test in real)):
        return "results of some tests are missing"
    return ""


def _status_fault(status: int, outcomes: Sequence[str]) -> str:
    """pytest ends with 1 if something failed, with 0 if not, with 5 if there was nothing to run."""
    failed = any(outcome in ("failed", "error") for outcome in outcomes)
    if (status == 1 and failed) or (status in (0, 5) and not failed):
        return ""
    return f"forged: status {status} does not fit the results"


__all__ = ["SuiteResult", "grading_limits", "judge", "run_suite"]
