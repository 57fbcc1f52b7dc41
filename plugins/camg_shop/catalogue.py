"""The catalogue that full episodes shop in: imported or generated, certified, indexed, and kept on disk by content."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen

from camg.errors import DataError
from camg_shop import synthetic, webshop
from camg_shop.certify import Trait, certify
from camg_shop.plan import Product
from camg_shop.search import Index, document
from camg_shop.webshop import Goal, Import

FORMAT = 1  # of the prepared folder


@frozen(eq=False)
class Catalogue:
    """Products, their index, and what certification found (:class:`camg_shop.plan.Store`)."""

    products: tuple[Product, ...]
    traits: tuple[Trait, ...]
    goals: tuple[Goal, ...]
    report: Mapping[str, Any]
    _index: Index
    _numbers: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._numbers.update((product.id, number) for number, product in enumerate(self.products))

    def product(self, product_id: str) -> Product:
        """Raises ``KeyError``."""
        return self.products[self._numbers[product_id]]

    def search(self, query: str) -> Sequence[str]:
        """Ids of at most 50 hits, best first."""
        return [self.products[number].id for number in self._index.search(query)]


def cache_root() -> Path:
    """``$XDG_CACHE_HOME/camg/shop``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "camg" / "shop"


def load(webshop_folder: str, seed: int, *, root: Path | None = None) -> Catalogue:
    """The prepared catalogue of a WebShop folder, or the generated one ("" as folder); prepared now where it is not.

    Raises:
        DataError: files are missing or unreadable.
    """
    root = root or cache_root()
    folder = Path(webshop_folder).expanduser() if webshop_folder else None
    key = _key(folder, seed, root)
    prepared = root / key
    if not (prepared / "products.json").is_file():
        _prepare(folder, seed, prepared)
    return _read(prepared)


# ---------------------------------------------------------------- keys
def _key(folder: Path | None, seed: int, root: Path) -> str:
    """Content decides: format, seed, and the bytes of the three files."""
    parts = [f"format {FORMAT}", f"seed {seed}"]
    if folder is None:
        parts.append(f"generated {synthetic.VERSION}")
    else:
        parts += [f"{path.name} {_file_hash(path, root)}" for path in webshop.find_files(folder)]
    name = "generated" if folder is None else "webshop"
    return f"{name}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"


def _file_hash(path: Path, root: Path) -> str:
    """sha256 of a file; remembered beside the catalogues by path, size and time of change, as the files are large."""
    state = path.stat()
    identity = f"{path.resolve()}\n{state.st_size}\n{state.st_mtime_ns}\n{state.st_ino}"
    memo = root / "hashes" / hashlib.sha256(identity.encode()).hexdigest()
    if memo.is_file() and len(known := memo.read_text(encoding="ascii").strip()) == 64:
        return known
    with path.open("rb") as source:
        found = hashlib.file_digest(source, "sha256").hexdigest()
    _write(memo, found)
    return found


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as beside:
            beside.write(text)
        Path(beside.name).replace(path)
    except OSError as error:
        raise DataError(
            f"Expected to write {path}: {error}.", hint="Set XDG_CACHE_HOME to a writable folder."
        ) from error


# ---------------------------------------------------------------- prepared folders
def _prepare(folder: Path | None, seed: int, prepared: Path) -> None:
    """Import, index, certify; written beside and renamed, so that a prepared folder is whole or absent."""
    try:
        prepared.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f"{prepared.name}.", dir=prepared.parent))
    except OSError as error:
        raise DataError(
            f"Expected to write {prepared}: {error}.", hint="Set XDG_CACHE_HOME to a writable folder."
        ) from error
    try:
        if folder is None:
            synthetic.write(beside, seed)
        imported = webshop.read_webshop(folder or beside, seed)
        _save(imported, beside)
        try:
            beside.rename(prepared)
        except OSError:
            if not (prepared / "products.json").is_file():  # else another process was quicker
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _save(imported: Import, folder: Path) -> None:
    index = Index.build([document(product) for product in imported.products])
    bare = Catalogue(imported.products, (), (), {}, index)
    certified = certify(imported.products, bare)
    index.save(folder)
    report = {
        "counts": dict(imported.counts),
        "faults": [asdict(fault) for fault in imported.faults[:1000]],
        "certification": certified.reasons,
    }
    content = {
        "products": [asdict(product) for product in imported.products],
        "traits": [asdict(trait) for trait in certified.traits],
        "goals": [asdict(goal) for goal in imported.goals],
        "report": report,
    }
    (folder / "products.json").write_text(json.dumps(content), encoding="utf-8")


def _read(prepared: Path) -> Catalogue:
    path = prepared / "products.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        products = tuple(_product(row) for row in content["products"])
        traits = tuple(Trait(**row) for row in content["traits"])
        goals = tuple(
            Goal(**{**row, "attributes": tuple(row["attributes"]), "options": tuple(row["options"])})
            for row in content["goals"]
        )
        report = content["report"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"Expected a prepared catalogue in {path}: {error}.", hint=f"Delete {prepared}.") from error
    return Catalogue(products, traits, goals, report, Index.load(prepared, len(products)))


def _product(row: dict[str, Any]) -> Product:
    listed = {key: tuple(row[key]) for key in ("features", "attributes", "reviews")}
    options = {name: tuple(values) for name, values in row["options"].items()}
    return Product(**{**row, **listed, "options": options})
