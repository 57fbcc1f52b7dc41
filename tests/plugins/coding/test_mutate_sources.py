"""The bug strategies on real code: the standard library's own modules, and what they promise of each result."""

from __future__ import annotations

import ast
import functools
import importlib.util
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camg.errors import DataError
from camg_coding.mutate import STRATEGIES, Bug, Mutation, candidates, combine_file, combine_module, digest, entities

MODULES = """
    bisect calendar cmd codeop collections colorsys configparser contextlib copy csv dataclasses
    enum fnmatch fractions functools graphlib heapq json.decoder json.encoder keyword locale numbers
    pprint queue reprlib sched shlex statistics string textwrap token tokenize traceback types
    weakref
""".split()  # noqa: SIM905


def source_of(module: str) -> str:
    """A module's text with its line ends."""
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    with open(found.origin, encoding="utf-8", newline="") as file:
        return file.read()


def lines_of(text: str) -> list[str]:
    """The lines as Python's parser counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@functools.lru_cache(maxsize=4)
def dumped(text: str) -> str:
    """The text's tree, without positions."""
    return ast.dump(ast.parse(text))


def holds(mutation: Mutation) -> None:
    """Everything that is promised of one mutation, checked on the whole texts."""
    before, after = mutation.before, mutation.after
    assert before != after
    compile(after, mutation.path, "exec")
    assert dumped(after) != dumped(before)
    head = lines_of(before)[: mutation.first_line - 1]
    tail = lines_of(before)[mutation.last_line :]
    assert lines_of(after)[: len(head)] == head
    assert not tail or lines_of(after)[-len(tail) :] == tail
    # the definition is still there, at the same line, and ends where the rest begins
    found = [e for e in entities("", after) if (e.qualname, e.first_line) == (mutation.qualname, mutation.first_line)]
    assert len(found) == 1
    assert len(lines_of(after)) - found[0].last_line >= len(tail)


@pytest.mark.parametrize("module", MODULES)
def test_every_mutation_of_a_module_keeps_its_promises(module: str) -> None:
    source = source_of(module)
    drawn = list(candidates(f"{module}.py", source, random.Random(0)))
    assert len({(m.qualname, m.first_line, m.strategy) for m in drawn}) == len(drawn)
    for mutation in random.Random(1).sample(drawn, min(len(drawn), 5)):
        holds(mutation)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(MODULES), st.sampled_from(list(STRATEGIES)), st.integers(0, 2**32), st.data())
def test_any_strategy_on_any_entity(module: str, name: str, seed: int, data: st.DataObject) -> None:
    source, strategy = source_of(module), STRATEGIES[name]
    suited = [e for e in entities(module, source) if e.kind in strategy.kinds]
    if not suited:
        return
    entity = data.draw(st.sampled_from(suited))
    after = strategy.mutate(source, entity, random.Random(seed))
    assert after == strategy.mutate(source, entity, random.Random(seed))
    if after is not None:
        holds(Mutation(name, module, entity.qualname, source, after, entity.first_line, entity.last_line))


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(MODULES), st.sampled_from(["\r\n", "\r"]), st.integers(0, 2**32))
def test_other_line_ends_give_the_same_bugs(module: str, newline: str, seed: int) -> None:
    source = source_of(module)
    if "\r" in source or "\\\n" in source:
        return  # a lone carriage return after a backslash is another text
    other = source.replace("\n", newline)
    name = random.Random(seed).choice(list(STRATEGIES))
    for entity in entities(module, source)[:20]:
        plain = STRATEGIES[name].mutate(source, entity, random.Random(seed))
        changed = STRATEGIES[name].mutate(other, entity, random.Random(seed))
        assert changed == (None if plain is None else plain.replace("\n", newline))


def test_every_strategy_applies_somewhere_and_a_thousand_lines_give_a_few_hundred() -> None:
    source = source_of("configparser")
    counts = Counter(m.strategy for m in candidates("configparser.py", source, random.Random(0)))
    assert set(counts) == set(STRATEGIES)
    assert counts.total() / source.count("\n") > 0.2


def test_the_same_in_another_process_whatever_the_hash_seed() -> None:
    program = (
        "import random; from pathlib import Path; from camg_coding.mutate import *\n"
        "source = Path(random.__file__).read_text()\n"
        "for m in candidates('random.py', source, random.Random(7)): print(digest(Bug.of(m)), m.strategy, m.qualname)"
    )
    path = str(Path(sys.modules["camg_coding"].__path__[0]).parent)
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert outputs[0].count("\n") > 100
    assert outputs[0] == outputs[1]


# ---------------------------------------------------------------- entities
def test_entities_of_nested_decorated_and_conditional_definitions() -> None:
    source = (
        "@d(\n  1)\nasync def f():\n    def g(): pass\n    class C:\n        def h(self): pass\n"
        "if x:\n    def f(): pass\nelse:\n    class K: pass\n"
    )
    assert [(e.qualname, e.kind, e.first_line, e.last_line) for e in entities("p.py", source)] == [
        ("f", "function", 1, 6),
        ("f.<locals>.g", "function", 4, 4),
        ("f.<locals>.C", "class", 5, 6),
        ("f.<locals>.C.h", "function", 6, 6),
        ("f", "function", 8, 8),
        ("K", "class", 10, 10),
    ]
    assert {e.path for e in entities("p.py", source)} == {"p.py"}


@pytest.mark.parametrize(
    "source",
    ["def f(:\n", "x = 1\nfrom __future__ import annotations\n", "print 'old'\n", "a = \0\n", "x = '\ud800'\n"],
)
def test_what_is_no_python_is_named(source: str) -> None:
    with pytest.raises(DataError, match=r"expected Python source, got .*old/p\.py"):
        entities("old/p.py", source)


def test_an_entity_of_another_text_is_refused() -> None:
    entity = entities("p.py", "\ndef f(a): return a + 1\n")[0]
    with pytest.raises(ValueError, match="expected an entity of this source, got f at line 2"):
        STRATEGIES["func_pm_op_change"].mutate("def f(a): return a + 1\n", entity, random.Random(0))


def test_a_very_long_chain_is_no_fault() -> None:
    source = "def f(a):\n    x = 1\n    return " + "a + " * 400 + "a\n"
    assert {m.strategy for m in candidates("p.py", source, random.Random(0))} >= {"func_pm_op_change"}


# ---------------------------------------------------------------- bugs
def drawn(path: str, module: str) -> list[Mutation]:
    """A module's mutations, as of the file ``path``."""
    return list(candidates(path, source_of(module), random.Random(3)))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_combine_file_merges_entities_that_are_apart(count: int) -> None:
    pool = drawn("lib/textwrap.py", "textwrap")
    for seed in range(8):
        bug = combine_file(pool, count, random.Random(seed))
        assert bug is not None
        assert bug == combine_file(pool, count, random.Random(seed))
        assert bug.strategy == "combine_file"
        assert len(bug.parts) == count
        assert len({qualname for _, _, qualname in bug.parts}) == count
        before, after = bug.files["lib/textwrap.py"]
        compile(after, "textwrap.py", "exec")
        # the merged text holds each part's entity as its own mutation has it
        for strategy, _, qualname in bug.parts:
            mutation = next(m for m in pool if (m.strategy, m.qualname) == (strategy, qualname))
            own = [
                ast.dump(n)
                for n in ast.walk(ast.parse(mutation.after))
                if getattr(n, "name", "") == qualname.split(".")[-1]
            ]
            merged = {
                ast.dump(n) for n in ast.walk(ast.parse(after)) if getattr(n, "name", "") == qualname.split(".")[-1]
            }
            assert set(own) & merged
        assert before == source_of("textwrap")


def test_combine_module_changes_two_files_or_more() -> None:
    pool = drawn("lib/textwrap.py", "textwrap") + drawn("lib/shlex.py", "shlex")
    for seed in range(8):
        bug = combine_module(pool, 3, random.Random(seed))
        assert bug is not None
        assert bug.strategy == "combine_module"
        assert set(bug.files) == {"lib/shlex.py", "lib/textwrap.py"}
        assert len(bug.parts) == 3
        for path, (before, after) in bug.files.items():
            assert before == source_of(PurePosixPath(path).stem)
            assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))


def test_combinations_of_too_little_or_of_the_wrong_files() -> None:
    source = "def f(a):\n    if a: return a + 1\n    return a - 1\n"
    pool = list(candidates("a/p.py", source, random.Random(0)))
    other = list(candidates("b/q.py", source, random.Random(0)))
    assert len(pool) > 2
    assert combine_file(pool, 2, random.Random(0)) is None  # one function only
    assert combine_module(pool, 2, random.Random(0)) is None  # one file only
    assert combine_file([], 2, random.Random(0)) is None
    with pytest.raises(ValueError, match="expected mutations of one file"):
        combine_file([*pool, *other], 2, random.Random(0))
    with pytest.raises(ValueError, match="expected mutations of one folder"):
        combine_module([*pool, *other], 2, random.Random(0))
    with pytest.raises(ValueError, match="at least 2"):
        combine_file(pool, 1, random.Random(0))


def test_digest_depends_on_the_texts_alone() -> None:
    files = {"b.py": ("x", "y"), "a.py": ("1", "2")}
    first = digest(Bug("combine_file", (), files))
    assert first == digest(Bug("combine_module", (("s", "a.py", "f"),), dict(sorted(files.items()))))
    assert len(first) == 8
    assert set(first) <= set("0123456789abcdefghijklmnopqrstuvwxyz")
    assert first != digest(Bug("combine_file", (), {**files, "a.py": ("1", "3")}))
    assert first != digest(Bug("combine_file", (), {"b.py": ("x", "y"), "c.py": ("1", "2")}))
    pool = drawn("textwrap.py", "textwrap")
    assert len({digest(Bug.of(m)) for m in pool}) == len({m.after for m in pool})
