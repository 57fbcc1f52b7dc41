"""``camg tasks build shop`` and ``camg tasks check shop``."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import click
from attrs import frozen

from camg.errors import DataError
from camg_shop import pocket
from camg_shop.catalogue import Catalogue, cache_root, load
from camg_shop.certify import certify
from camg_shop.config import SESSIONS
from camg_shop.environment import PAIRS
from camg_shop.families import FAMILIES, TITLES
from camg_shop.generate import Tasks
from camg_shop.plan import Plan
from camg_shop.solver import RememberingStore, Solver, check_pocket
from camg_shop.texts import FullStyle

_WEBSHOP = click.option(
    "--webshop", default="", metavar="DIR", help="Folder with the WebShop files; without it the generated catalogue."
)
_SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="As shop.seed.")
_CACHE = click.option(
    "--cache",
    type=click.Path(path_type=Path),
    help="Where prepared catalogues lie.  [default: $XDG_CACHE_HOME/camg/shop]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


@click.command("build")
@_WEBSHOP
@_SEED
@_CACHE
@_JSON
def build(webshop: str, seed: int, cache: Path | None, as_json: bool) -> None:
    """Import, certify and index a catalogue, and keep it for `--set shop.webshop=DIR`.

    Malformed records are left out, reported with file, record and reason, and counted.
    """
    began = time.monotonic()
    store = load(webshop, seed, root=cache)
    report = {
        "webshop": webshop or None,
        "cache": str(cache or cache_root()),
        "products": len(store.products),
        **store.report,
        "tasks": _sizes(store, seed),
    }
    if as_json:
        click.echo(json.dumps(report))
        return
    faults = store.report["faults"]
    for fault in faults[:20]:
        click.echo(f"{fault['file']}, record {fault['record']}: {fault['reason']}", err=True)
    if len(faults) > 20:
        click.echo(f"… and {len(faults) - 20} more, counted below; --json lists them", err=True)
    _table("import", store.report["counts"])
    _table("certification", store.report["certification"])
    _table("counterfactual pairs to draw from", report["tasks"])
    click.echo(f"{len(store.products)} products ready in {time.monotonic() - began:.1f} s under {report['cache']}")
    if webshop:
        click.echo(f"Use them with: --set shop.webshop={webshop}" + (f" --set shop.seed={seed}" if seed else ""))


def _sizes(store: Catalogue, seed: int) -> dict[str, int]:
    """Pairs that each split and family can draw from; 0 where the catalogue cannot serve it."""
    tasks = Tasks(store, store.traits, seed=seed, sessions=SESSIONS)
    sizes = {}
    for split in PAIRS:
        for family in FAMILIES:
            try:
                sizes[f"{split}: {TITLES[family]}"] = tasks.space(split, family).size
            except DataError:
                sizes[f"{split}: {TITLES[family]}"] = 0
    return sizes


def _table(title: str, rows: Mapping[str, int]) -> None:
    click.secho(title, bold=True)
    width = max((len(name) for name in rows), default=0)
    for name, count in rows.items():
        shown = f"{count:>12,}" if count < 10**12 else f"{count:>12.2e}"
        click.echo(f"  {name:<{width}} {shown}")


@frozen
class Yield:
    """What checking one split and family found: units (pairs, or pocket tasks) and faults by reason."""

    split: str
    family: str
    checked: int
    faults: Counter[str]
    first: str = ""  # the first unit that failed


@click.command("check")
@click.option(
    "--split", "splits", multiple=True, type=click.Choice((*PAIRS, *pocket.SIZES)), help="Repeatable.  [default: all]"
)
@click.option("--limit", type=click.IntRange(min=1), help="Pairs (pocket: tasks) of each split; without it every one.")
@_WEBSHOP
@_SEED
@_CACHE
@_JSON
@click.pass_context
def check(
    ctx: click.Context,
    splits: tuple[str, ...],
    limit: int | None,
    webshop: str,
    seed: int,
    cache: Path | None,
    as_json: bool,
) -> None:
    """Prove what Shop promises: certification again, and the solver on every task. Exit code 1 if anything fails."""
    chosen = splits or (*PAIRS, *pocket.SIZES)
    found: list[Yield] = []
    certification: dict[str, int] = {}
    if any(split in PAIRS for split in chosen):
        store = load(webshop, seed, root=cache)
        again = certify(store.products, store)
        certification = again.reasons
        lost = Counter({"certified differently now": len(set(again.traits) ^ set(store.traits))})
        found.append(Yield("catalogue", "certification", len(store.products), +lost))
        for split in (split for split in PAIRS if split in chosen):
            found += _check_full(store, split, seed, limit)
    for split in (split for split in pocket.SIZES if split in chosen):
        found.append(_check_pocket(split, seed, limit))
    ok = not any(row.faults for row in found)
    if as_json:
        rows = [
            {"split": r.split, "family": r.family, "checked": r.checked, "faults": dict(r.faults), "first": r.first}
            for r in found
        ]
        click.echo(json.dumps({"ok": ok, "certification": certification, "yield": rows}))
    else:
        _show(found, certification)
    if not ok:
        ctx.exit(1)


def _check_full(store: Catalogue, split: str, seed: int, limit: int | None) -> list[Yield]:
    tasks = Tasks(store, store.traits, seed=seed, sessions=SESSIONS)
    products = frozenset(product_id for ids in tasks.cells[split].values() for product_id in ids)
    remembering, style, rows = RememberingStore(store), FullStyle("text_rich"), []
    every = PAIRS[split] // len(FAMILIES)
    share = every if limit is None else min(every, -(-limit // len(FAMILIES)))
    for family in FAMILIES:
        click.echo(f"{split}: {TITLES[family]}, {share} pairs", err=True)
        try:
            space = tasks.space(split, family)
        except DataError as error:
            rows.append(Yield(split, family, 0, Counter({error.message: 1})))
            continue
        solver, faults, first = Solver(space, remembering, products, style), Counter[str](), ""
        if space.size < every:
            faults[f"only {space.size} pairs, {every} are promised"] += 1
        for place in range(min(share, space.size)):
            broken = solver.check(place)
            faults.update(broken)
            first = first or (f"shop.{split}.{family}.{place:05d}" if broken else "")
        rows.append(Yield(split, family, min(share, space.size), faults, first))
    return rows


def _check_pocket(split: str, seed: int, limit: int | None) -> Yield:
    count = min(pocket.SIZES[split], limit or pocket.SIZES[split])
    click.echo(f"{split}: {count} tasks", err=True)
    faults, seen, first = Counter[str](), set[Plan](), ""
    for place in range(count):
        plan = pocket.pocket_plan(split, place, seed)
        broken = check_pocket(plan) + (["the same task twice"] if plan in seen else [])
        seen.add(plan)
        faults.update(broken)
        first = first or (f"shop.{split}.{pocket.FAMILY}.{place:05d}" if broken else "")
    return Yield(split, pocket.FAMILY, count, faults, first)


def _show(found: list[Yield], certification: Mapping[str, int]) -> None:
    if certification:
        _table("certification", certification)
    click.secho("solver", bold=True)
    click.echo(f"  {'split':<12} {'family':<24} {'checked':>8}  result")
    for row in found:
        result = "; ".join(f"{reason}: {count}" for reason, count in row.faults.items()) or "all proven"
        first = f" (first: {row.first})" if row.first else ""
        click.echo(f"  {row.split:<12} {TITLES.get(row.family, row.family):<24} {row.checked:>8}  {result}{first}")
