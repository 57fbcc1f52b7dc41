"""The pocket split: repair small enough for the embedded policy. Real files, a real shell, hidden tests.

A repository of four one-function modules and a test program, ``check.py``. One module has the wrong operator (the
strategy ``func_pm_op_change``). ``python check.py`` says which and what is wanted, and much more: its output fills
the context, so that the next boundary takes the finding away. Only a file that the policy wrote and read can keep
it, unless it guesses (one in 32) or runs the program again, which fills the context again.

In the split ``pocket-drill`` the program says little: there the finding stays visible, and perfect play needs no
memory. It is for the warm start alone, to teach repairing what one sees.

Every task is a number below :data:`_SPACE`; the splits have ranges of their own, so that no task is in two of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from attrs import asdict, frozen

from camg.errors import DataError, InfrastructureFault
from camg.protocols import Box, Boxes
from camg.types import Task, Workspace
from camg_coding.config import POCKET_BUDGET
from camg_coding.grading.suite import run_suite
from camg_coding.records import Profile
from camg_coding.session import CodingSession, Grade

SIZES = {"pocket": 20_000, "pocket-eval": 1_024, "pocket-drill": 20_000}
NAMES = ("cost", "fee", "tax", "sum", "rate", "size", "gain", "loss", "price", "area", "dose", "load")
OPERATORS = ("+", "-", "*", "%", "|", "^", "<", ">")
MODULES = 4
CHECK = "check.py"
BYTES = 4096  # that the grader reads of a module

_ORDERS = tuple(itertools.permutations(range(len(NAMES)), MODULES))
_RADICES = (len(OPERATORS), len(OPERATORS) - 1, MODULES, *[len(OPERATORS)] * (MODULES - 1), len(_ORDERS))
_SPACE = 8 * 7 * 4 * 8**3 * len(_ORDERS)
_STRIDE = 741_455_279  # prime and no divisor of the space: counting in strides visits every number once
_FIRST = {"pocket": 0, "pocket-eval": 1 << 20, "pocket-drill": 2 << 20}
_SHOWN = ((7, 2), (5, 3), (6, 4), (9, 4), (8, 3), (9, 7), (4, 2), (7, 5), (8, 6))  # pairs that check.py tries
_FEW = 2
_TESTED = ((7, 3), (5, 2), (9, 5), (6, 3), (8, 5), (11, 4), (12, 7))  # pairs of the hidden tests

# the hidden tests and the program that the policy runs tell any two operators apart
_CHECK = """\
WANT = {want!r}
rows = []
for name, want in WANT.items():
    call = getattr(__import__(name), name)
    tried = [(a, b, int(eval(want)), int(call(a, b))) for a, b in {pairs!r}]
    bad = any(row[2] != row[3] for row in tried)
    rows.append((not bad, name, want, tried))
for fine, name, want, tried in rows:
    print(f"{{name}}.py")
    for a, b, right, got in tried:
        print(a, b, right, got)
for fine, name, want, tried in sorted(rows, reverse=True):
    print(f"ok {{name}}.py" if fine else f"FAIL {{name}}.py: want {{want}}")
"""
_TEST = """\
from {name} import {name}

def test_{name}():
    for a, b in {pairs!r}:
        got, want = {name}(a, b), {want}
        if got != want:
            raise AssertionError
"""


@frozen
class Plan:
    """One task: the modules in order, their operators, which one is broken, and with what."""

    names: tuple[str, ...]
    operators: tuple[str, ...]
    broken: int
    wrong: str
    pairs: int  # that check.py tries with each module: its output is as long

    @property
    def name(self) -> str:
        """The broken module's."""
        return self.names[self.broken]

    @property
    def right(self) -> str:
        """The operator that it wants."""
        return self.operators[self.broken]

    def files(self) -> Iterator[tuple[str, str]]:
        """What the policy's workspace holds."""
        for index, (name, operator) in enumerate(zip(self.names, self.operators, strict=True)):
            yield f"{name}.py", module(name, self.wrong if index == self.broken else operator)
        want = {name: f"a {operator} b" for name, operator in zip(self.names, self.operators, strict=True)}
        yield CHECK, _CHECK.format(want=want, pairs=_SHOWN[: self.pairs])

    def tests(self) -> Iterator[tuple[str, str]]:
        """What only the grader has."""
        for name, operator in zip(self.names, self.operators, strict=True):
            yield f"test_{name}.py", _TEST.format(name=name, pairs=_TESTED, want=f"a {operator} b")


def module(name: str, operator: str) -> str:
    """A module's text."""
    return f"def {name}(a, b):\n    return a {operator} b\n"


def plan(split: str, index: int, seed: int) -> Plan:
    """The plan of task ``index`` of a split. Raises ``IndexError``."""
    if not 0 <= index < SIZES[split]:
        raise IndexError(f"Expected an index below {SIZES[split]}, got {index}.")
    number = ((_FIRST[split] + index + (seed << 22)) * _STRIDE) % _SPACE
    digits = []
    for radix in _RADICES:
        number, digit = divmod(number, radix)
        digits.append(digit)
    right, shift, broken, *others, order = digits
    wrong = OPERATORS[(right + 1 + shift) % len(OPERATORS)]
    operators = [OPERATORS[other] for other in others]
    operators.insert(broken, OPERATORS[right])
    pairs = _FEW if split == "pocket-drill" else len(_SHOWN)
    return Plan(tuple(NAMES[place] for place in _ORDERS[order]), tuple(operators), broken, wrong, pairs)


def task(split: str, index: int, seed: int) -> Task:
    """Raises ``IndexError``."""
    payload = {"style": "pocket", **asdict(plan(split, index, seed))}
    return Task(f"coding.{split}.{index:05d}", "coding", split, POCKET_BUDGET, payload)


def parse(payload: Mapping[str, object]) -> Plan:
    """The plan in a payload, which may have been JSON. Raises :class:`DataError`."""
    try:
        names, operators = tuple(payload["names"]), tuple(payload["operators"])  # type: ignore[arg-type]
        broken, pairs = int(str(payload["broken"])), int(str(payload["pairs"]))
        return Plan(names, operators, broken, str(payload["wrong"]), pairs)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"Expected the payload of a pocket task of coding, got {payload!r}.") from error


def workspace(task: Task) -> Workspace:
    """Empty: the few files are written when the episode opens."""
    return Workspace(variables={"PYTHONDONTWRITEBYTECODE": "1"})


def open_session(task: Task, box: Box, boxes: Boxes) -> CodingSession:
    """Place the files and start the episode."""
    made = parse(task.payload)
    for path, text in made.files():
        box.write(path, text.encode())
    return CodingSession(Texts(made), lambda: grade(made, box, boxes))


class Texts:
    """Texts of a few tokens (:class:`camg_coding.session.Texts`)."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._saves = 0

    def brief(self) -> str:
        """The same in every context: nothing in it tells what is broken."""
        return f"Repair one of {' '.join(f'{name}.py' for name in self._plan.names)}"

    def reminder(self, path: str, limit: int) -> str:
        """One line; the number makes each note another text than the one before."""
        self._saves += 1
        return f"save {self._saves} to {path}"

    def fault(self, shown: str) -> str:
        """Short."""
        return "invalid"


def grade(plan: Plan, box: Box, boxes: Boxes) -> Grade:
    """The modules as the policy left them, under the hidden tests, in a box of their own."""
    submitted = {}
    for name in plan.names:
        try:
            submitted[f"{name}.py"] = box.read(f"{name}.py", BYTES)
        except OSError:
            submitted[f"{name}.py"] = b""  # removed, or replaced by something else: what it defined is gone
    tests = dict(plan.tests())
    profile = Profile(
        key="pocket", owner="camg", repo="pocket", commit="0", source="pocket", tests=tuple(tests), runner="plain"
    )
    grader = boxes(Workspace())
    try:
        for path, data in (*submitted.items(), *((path, text.encode()) for path, text in tests.items())):
            grader.write(path, data)
        result = run_suite(grader, profile, wall_seconds=5.0)
    except OSError as error:
        raise InfrastructureFault(f"a grader's box could not be filled: {error}") from error
    finally:
        grader.close()
    ids = {name: f"test_{name}.py::test_{name}" for name in plan.names}
    others = [test for name, test in ids.items() if name != plan.name]
    return Grade.judge(
        result.outcomes,
        [ids[plan.name]],
        others,
        complete=result.complete,
        reason=result.reason,
        seconds=result.seconds,
    )
