"""Which tasks are for training and which for evaluation: disjoint in their repositories (paper A.1.2); contamination.

Everything follows from a seed and from the names of repositories and tasks: neither the order of a file nor the
machine decides, and a repository that joins a set moves few others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence

from camg_coding.config import EVAL_TASKS
from camg_coding.names import key_of, same_name
from camg_coding.records import Instance
from camg_coding.store import TaskSet

# The repositories of SWE-bench and SWE-bench Verified: training on them would spoil those figures.
HELD_OUT = (
    "astropy/astropy",
    "django/django",
    "matplotlib/matplotlib",
    "mwaskom/seaborn",
    "pallets/flask",
    "psf/requests",
    "pydata/xarray",
    "pylint-dev/pylint",
    "pytest-dev/pytest",
    "scikit-learn/scikit-learn",
    "sphinx-doc/sphinx",
    "sympy/sympy",
)


def split(tasks: TaskSet, seed: int, eval_share: float) -> Mapping[str, tuple[str, ...]]:
    """The instance ids of "train" and "eval", each in an order of the seed.

    Repositories are ordered by sha256("seed:repo") and taken for evaluation until ``eval_share`` of them is reached; at
    least one is left on each side. A set of one repository is all for training and its "eval" is empty: no evaluation
    on it could be disjoint. "train" holds every task of its repositories. "eval" is a fixed sample of
    :data:`EVAL_TASKS` tasks, proportional over the repositories of evaluation by largest remainder, or all where there
    are fewer; the rest of these repositories is in neither. Tasks that nothing here can run (no profile, no image) are
    left out.

    Args:
        tasks: a task set; only names are looked at.
        seed: of the split.
        eval_share: of the repositories, in (0, 1).
    """
    groups: dict[str, list[str]] = {}
    for instance in tasks.instances.values():
        if instance.profile in tasks.profiles or instance.image_name:
            groups.setdefault(key_of(instance.repo), []).append(instance.instance_id)
    for ids in groups.values():
        ids.sort(key=lambda task: _rank(seed, task))
    repositories = sorted(groups, key=lambda repo: _rank(seed, repo))
    held = _held(len(repositories), eval_share)
    evaluation = {repo: groups[repo] for repo in repositories[:held]}
    shares = proportional({repo: len(ids) for repo, ids in evaluation.items()}, EVAL_TASKS)
    chosen = [task for repo, ids in evaluation.items() for task in ids[: shares[repo]]]
    train = [task for repo in repositories[held:] for task in groups[repo]]
    return {
        "train": tuple(sorted(train, key=lambda task: _rank(seed, task))),
        "eval": tuple(sorted(chosen, key=lambda task: _rank(seed, task))),
    }


def proportional(sizes: Mapping[str, int], total: int) -> Mapping[str, int]:
    """Share ``total`` places in proportion to ``sizes`` by largest remainder, ties in the order of ``sizes``.

    Each share is within one of its exact quota and never above its size; all are taken where there are at most
    ``total``.
    """
    whole = sum(sizes.values())
    if whole <= total:
        return dict(sizes)
    shares = {name: size * total // whole for name, size in sizes.items()}
    remainders = sorted(sizes, key=lambda name: -(sizes[name] * total % whole))  # stable: ties keep their order
    for name in remainders[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def contaminated(instances: Iterable[Instance], held_out: Iterable[str] = HELD_OUT) -> tuple[Instance, ...]:
    """The instances of a held-out repository under any spelling: case, address, ``.git``, mirror, former owner.

    Raises :class:`DataError` for a held-out entry that names no repository.
    """
    names = frozenset(map(same_name, held_out))
    return tuple(instance for instance in instances if key_of(instance.repo) in names)


def possible_forks(instances: Iterable[Instance], held_out: Iterable[str] = HELD_OUT) -> Mapping[str, Sequence[str]]:
    """Repositories with the name of a held-out one under another owner -> the held-out ones. To warn of, not to remove.

    Raises :class:`DataError` for a held-out entry that names no repository.
    """
    owners: dict[str, list[str]] = {}
    names = sorted(set(map(same_name, held_out)))
    for name in names:
        owners.setdefault(name.partition("/")[2], []).append(name)
    found = {}
    for repo in sorted({key_of(instance.repo) for instance in instances} - set(names)):
        if repo.partition("/")[2] in owners:
            found[repo] = tuple(owners[repo.partition("/")[2]])
    return found


def _held(repositories: int, share: float) -> int:
    """How many repositories evaluation gets."""
    if repositories < 2:
        return 0
    return min(max(1, math.ceil(share * repositories - 1e-9)), repositories - 1)


def _rank(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
