"""Options of the Shop environment, and its fixed sizes. Imported by the hook: nothing heavy here."""

from __future__ import annotations

from attrs import frozen
from attrs.validators import ge, in_, le

from camg.specs import option

BUDGET = 42  # action slots of a full episode (paper, Table 5)
SESSIONS = 6
POCKET_BUDGET = 16
POCKET_SESSIONS = 3
EVAL_PAIRS = 64
TRAIN_PAIRS = 65_536  # of the spaces that generate.Space numbers, which are far larger


@frozen
class ShopConfig:
    """``--set shop.NAME=VALUE``."""

    webshop: str = option("", "folder with the WebShop files; empty: the generated catalogue")
    sessions: int = option(SESSIONS, "purchases in a full episode", validator=[ge(4), le(SESSIONS)])
    observation: str = option("text_rich", "page mode of full episodes", validator=in_(("simple", "text_rich")))
    seed: int = option(0, "seed of catalogue, splits and tasks", validator=ge(0))
