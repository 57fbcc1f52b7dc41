"""The vault's options: ``--set vault.days=3``."""

from attrs import frozen
from attrs.validators import ge, le

from camg.specs import option

BUDGET = 12  # action slots of an episode


@frozen
class VaultConfig:
    """Each field is an option, with its default, its help and its check."""

    days: int = option(2, "days on which the vault must be opened", validator=[ge(2), le(4)])
