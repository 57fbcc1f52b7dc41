"""The cells of a sweep before anything runs: equal ones merged, impossible ones collected with every reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from camg.config import RunConfig, check_run
from camg.config.record import SECTIONS
from camg.config.toml import format_value
from camg.errors import BackendUnavailable, CamgError, ConfigError
from camg.plugins import Registry
from camg.report.labels import SEED, tell_apart
from camg.specs import resolve

Resolver = Callable[..., RunConfig]


@frozen
class GridCell:
    """One combination. ``values``: what the axes say; ``config`` is None where they cannot be resolved.

    ``problems``: every reason why it cannot run.
    """

    values: Mapping[str, Any]
    config: RunConfig | None
    problems: tuple[CamgError, ...] = ()


@frozen
class Grid:
    """``cells``: each once, in the order of the grid; ``merged``: combinations that are equal to one before them."""

    cells: tuple[GridCell, ...]
    merged: tuple[Mapping[str, Any], ...] = field(factory=tuple)

    @property
    def impossible(self) -> list[GridCell]:
        """The cells that cannot run."""
        return [cell for cell in self.cells if cell.problems]

    def configs(self) -> list[RunConfig]:
        """The cells to run. Raises the :class:`CamgError` of :func:`refusal` if any cannot."""
        if self.impossible:
            raise refusal(self)
        return [cell.config for cell in self.cells if cell.config is not None]


def make_grid(
    combinations: Iterable[Mapping[str, Any]], fixed: Mapping[str, Any], registry: Registry, settle: Resolver
) -> Grid:
    """Resolve and check every combination. ``settle(command_line=…, allowed=…)`` makes a cell's settings.

    An option may concern a component that only some of the cells have. Raises what ``settle`` raises where that is
    the same for all cells, and :class:`ConfigError` for an option that concerns none.
    """
    listed = list(combinations)
    allowed = {name.rpartition(".")[0] for values in (fixed, *listed) for name in values}
    cells: dict[str, GridCell] = {}
    merged: list[Mapping[str, Any]] = []
    for number, values in enumerate(listed):
        try:
            config = settle(command_line={**fixed, **values}, allowed=allowed)
        except CamgError as problem:
            cells[f"unresolved {number}"] = GridCell(values, None, (problem,))
            continue
        if config.digest() in cells:
            merged.append(values)
        else:
            cells[config.digest()] = GridCell(values, config, tuple(problems_of(config, registry)))
    grid = Grid(tuple(cells.values()), tuple(merged))
    resolved = [cell.config for cell in grid.cells if cell.config is not None]
    if not resolved and len({str(cell.problems[0]) for cell in grid.cells}) == 1:
        raise grid.cells[0].problems[0]  # such as a misspelt setting
    used = {prefix for config in resolved for prefix in (*SECTIONS, *config.components)}
    if len(resolved) == len(grid.cells) and not {prefix for prefix in allowed if prefix} <= used:
        settle(command_line={**fixed, **listed[0]}, allowed=used)  # names the option that concerns no cell
    return grid


def problems_of(config: RunConfig, registry: Registry) -> list[CamgError]:
    """Every reason why a cell cannot run: all broken components, or else what :func:`check_run` finds.

    That stops before it asks the sandbox where the settings are wrong already; here it is asked all the same.
    """
    found: list[CamgError] = []
    for kind, name in config.selected():
        try:
            registry.check(kind, name)
        except CamgError as problem:
            found.append(problem)
    if found:
        return found
    try:
        check_run(config, registry)
    except ConfigError as problem:
        probe = registry.spec("sandbox", config.sandbox).probe
        reason = resolve(probe)() if probe is not None else None
        found.append(problem)
        if reason:
            found.append(BackendUnavailable(f"The sandbox '{config.sandbox}' cannot run here: {reason}"))
    except CamgError as problem:
        found.append(problem)
    return found


def overridden(grid: Grid, registry: Registry) -> list[str]:
    """What the command line sets otherwise than a baseline that is in the grid: it wins, but the row keeps its name."""
    found: dict[str, None] = {}
    for config in (cell.config for cell in grid.cells):
        if config is None or config.baseline is None:
            continue
        spec, values = registry.spec("baseline", config.baseline), config.flat()
        for name, own in {**spec.components, **spec.settings}.items():
            if config.sources.get(name) == "command line" and values.get(name) != own:
                said = f"the command line says {format_value(values.get(name))}, which wins"
                found[f"the baseline {config.baseline} has {name} = {format_value(own)}, but {said}"] = None
    return list(found)


def refusal(grid: Grid) -> CamgError:
    """One error that has every reason of every impossible cell, of the class of the first."""
    first = grid.impossible[0].problems[0]
    lines = [f"    {', '.join(names)}: {reason}".replace("\n", "\n    ") for reason, names in _by_reason(grid).items()]
    return type(first)(
        f"{len(grid.impossible)} of {len(grid.cells)} cells cannot run, so nothing was begun:\n" + "\n".join(lines),
        hint="`--dry-run` shows the whole grid.",
    )


def _by_reason(grid: Grid) -> dict[str, list[str]]:
    """Reason -> the cells that it stops, by what tells them apart; the seed is named where it matters."""
    values = [cell.values for cell in grid.cells]
    short, full = tell_apart(values, without=(SEED,)), tell_apart(values)
    found: dict[str, list[int]] = {}
    for number, cell in enumerate(grid.cells):
        for problem in cell.problems:
            found.setdefault(str(problem), []).append(number)
    return {reason: _names(numbers, short, full) for reason, numbers in found.items()}


def _names(numbers: Sequence[int], short: Sequence[str], full: Sequence[str]) -> list[str]:
    names: dict[str, None] = {}
    for number in numbers:
        alike = [other for other, label in enumerate(short) if label == short[number]]
        names[f"({short[number]})" if set(alike) <= set(numbers) else f"({full[number]})"] = None
    return list(names)
