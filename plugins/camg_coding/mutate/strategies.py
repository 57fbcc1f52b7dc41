"""The thirteen procedural strategies of SWE-smith (Yang et al. 2025), by their standard names.

What each does is theirs; the text is changed in place, so that formatting outside the change is kept. Departures:

- Upstream flips a coin at every place of an entity. Here one place is changed, and another with chance 1/4 each time,
  at most three in all, so that a large function stays repairable.
- Changes that cannot matter are left out as far as the text shows: operands of ``==`` or ``*`` that change places, the
  base ``object``, statements in a new order of which none depends on another.
- ``op_change_const`` also takes comparisons, indices and slices; ``ctrl_invert_if`` conditional expressions;
  ``remove_cond`` a single ``elif`` or ``case``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from attrs import frozen

from camg_coding.mutate.classes import remove_base, remove_method, shuffle_methods
from camg_coding.mutate.control import invert_if, shuffle_statements
from camg_coding.mutate.operations import break_chains, change_constant, change_operator, swap_operands
from camg_coding.mutate.places import Place
from camg_coding.mutate.remove import remove_assignment, remove_conditional, remove_loop, remove_wrapper
from camg_coding.mutate.source import Definition, Edit, Entity, Source, entities, read

MORE = 0.25  # the chance that a further place is changed
MOST = 3  # places that one mutation changes
TRIES = 12  # places whose change would leave no sound module, before the strategy gives up


@frozen
class Strategy:
    """One way to put a bug into a function or class."""

    name: str
    summary: str
    kinds: tuple[str, ...]
    places: Callable[[Source, Definition], Iterable[Place]]
    most: int = MOST

    def mutate(self, source: str, entity: Entity, rng: random.Random) -> str | None:
        """The whole text with the bug, or None where the strategy does not apply to the entity.

        The result compiles, has another syntax tree, and differs within the entity's lines only. Raises ``ValueError``
        for an entity that is not in ``source``, and what Python raises for a source that it cannot parse.
        """
        if entity.kind not in self.kinds:
            return None
        text = read(source)
        found = text.found.get((entity.qualname, entity.first_line))
        if found is None:
            raise ValueError(f"expected an entity of this source, got {entity.qualname} at line {entity.first_line}")
        places = list(self.places(text, found.node))
        rng.shuffle(places)
        wanted = 1
        while wanted < self.most and rng.random() < MORE:
            wanted += 1
        done: list[Edit] = []
        failures = 0
        for place in places:
            edits = place(rng)
            if any(clash(edit, other) for edit in edits for other in done):
                continue
            if text.sound(found, [*done, *edits]):
                done += edits
                wanted -= 1
            else:
                failures += 1
            if not wanted or failures == TRIES:
                break
        return text.splice(done) if done else None


def clash(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same characters, or each other."""
    return one.start <= other.end and other.start <= one.end


FUNCTION, CLASS = ("function",), ("class",)

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        strategy.name: strategy
        for strategy in (
            Strategy("func_pm_class_rm_base", "removes a base class", CLASS, remove_base, 1),
            Strategy("func_pm_class_rm_funcs", "removes methods of a class", CLASS, remove_method),
            Strategy("func_pm_class_shuffle_funcs", "reorders the methods of a class", CLASS, shuffle_methods),
            Strategy("func_pm_ctrl_invert_if", "swaps the bodies of if and else", FUNCTION, invert_if),
            Strategy("func_pm_ctrl_shuffle", "reorders the statements of a block", FUNCTION, shuffle_statements, 1),
            Strategy("func_pm_remove_assign", "removes assignments", FUNCTION, remove_assignment),
            Strategy("func_pm_remove_cond", "removes conditional statements", FUNCTION, remove_conditional),
            Strategy("func_pm_remove_loop", "removes loops", FUNCTION, remove_loop),
            Strategy("func_pm_remove_wrapper", "unwraps with and try statements", FUNCTION, remove_wrapper),
            Strategy("func_pm_op_break_chains", "drops an operand of chained operators", FUNCTION, break_chains),
            Strategy("func_pm_op_change_const", "changes numbers by one", FUNCTION, change_constant),
            Strategy("func_pm_op_change", "replaces operators by others of their kind", FUNCTION, change_operator),
            Strategy("func_pm_op_swap", "swaps the operands of operators", FUNCTION, swap_operands),
        )
    }
)


@frozen
class Mutation:
    """One strategy's change to one entity of a file; ``before`` and ``after`` are the file's whole texts."""

    strategy: str
    path: str
    qualname: str
    before: str
    after: str
    first_line: int  # the entity's lines in ``before``
    last_line: int


def candidates(path: str, source: str, rng: random.Random) -> Iterator[Mutation]:
    """Every strategy on every entity where it applies, once each: entities as in the text, strategies as in the table.

    The same seed gives the same mutations in every process. Raises :class:`DataError` for a text that is no Python.
    """
    for entity in entities(path, source):
        for strategy in STRATEGIES.values():
            own = random.Random(rng.getrandbits(64))  # so that one strategy's draws do not move another's
            after = strategy.mutate(source, entity, own)
            if after is not None:
                yield Mutation(strategy.name, path, entity.qualname, source, after, entity.first_line, entity.last_line)
