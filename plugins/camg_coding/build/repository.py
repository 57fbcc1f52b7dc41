"""One repository, from its origin to admitted tasks."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from attrs import evolve, field, frozen

from camg.types import Workspace
from camg_coding.build.admit import Trial, Write
from camg_coding.build.boxes import Pool
from camg_coding.build.candidates import COMBINED, combinations, singles
from camg_coding.build.copies import find_copies, refuse_open
from camg_coding.build.journal import ADMITTED, Journal, Outcome
from camg_coding.build.packages import Installed, compile_packages, install
from camg_coding.build.profile import describe, sources
from camg_coding.build.reference import reference
from camg_coding.build.sources import Source
from camg_coding.config import PACKAGES
from camg_coding.mutate import Bug, Mutation, digest
from camg_coding.records import Instance, Profile, parse
from camg_coding.store import TaskSet, write_profile, write_text

DUPLICATE = "the same as another bug"
_TRIES = 6  # bugs that are tried for each that is wanted
_COMBINED_SHARE = 5  # one task in so many is a combination, where these are wanted

Say = Callable[[str], None]


def _install(tree: Path, packages: Path, source: Source, requirements: Sequence[str], say: Say) -> Installed:
    return install(tree, packages, source, test_requirements=requirements, say=say)


@frozen(kw_only=True)
class Origin:
    """A project to build from. ``label`` names it to people, ``identity`` (any text) to ``--resume``."""

    label: str
    identity: str
    fetch: Callable[[Path], Source]  # puts the tree at a path that does not exist yet
    test_requirements: tuple[str, ...] = ()
    install: Callable[[Path, Path, Source, Sequence[str], Say], Installed] = _install


@frozen(kw_only=True)
class Options:
    """What is asked for. ``per_repo``: tasks of each repository at most."""

    per_repo: int = 40
    strategies: tuple[str, ...] = ()
    seed: int = 0
    jobs: int = 1
    timeout: float = 90.0
    write: Write | None = None


@frozen(kw_only=True)
class Yield:
    """What one repository gave: ``reasons`` counts every bug that was tried, admitted ones too."""

    profile: Profile
    instances: tuple[Instance, ...]
    reasons: Counter[str] = field(factory=Counter)


def make_ready(out: Path, origin: Origin, options: Options, pool: Pool, say: Say) -> Profile:
    """Fetch, install, describe, look for copies, run the suite three times; whole or not at all under ``out``/repos.

    Raises :class:`DataError` with the reason why no task can be made of it.
    """
    noted = out / "origins" / hashlib.sha256(origin.identity.encode()).hexdigest()[:16]
    if noted.is_file():
        path = out / "repos" / noted.read_text(encoding="utf-8").strip() / "profile.json"
        if path.is_file():
            return parse(Profile, path.read_text(encoding="utf-8"), str(path))
    (out / "repos").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=out) as name:
        scratch = Path(name)
        tree, packages = scratch / "tree", scratch / "packages"
        say(f"{origin.label}: fetching")
        source = origin.fetch(tree)
        packages.mkdir()
        say(f"{source.key}: installing what it needs")
        installed = origin.install(tree, packages, source, origin.test_requirements, say)
        compile_packages(packages)
        profile = describe(tree, source, installed, timeout=options.timeout)
        making = TaskSet(scratch, {}, {})
        home = making.repository(profile.key)
        home.mkdir(parents=True)
        tree.rename(home / "tree")
        packages.rename(home / "packages")
        inputs = Workspace(inputs={PACKAGES: home / "packages"})
        copies = find_copies(home / "tree", inputs, profile, sources(home / "tree", profile), pool)
        refuse_open(copies, source.key)
        if copies.hidden:
            say(f"{source.key}: hidden from boxes, since they show a copy of it: {', '.join(copies.hidden)}")
        say(f"{source.key}: running its tests three times")
        profile = reference(making, evolve(profile, hidden=copies.hidden), pool)
        write_profile(scratch, profile)
        target = out / "repos" / profile.key
        shutil.rmtree(target, ignore_errors=True)  # of a build that broke off before its note
        home.rename(target)
    write_text(noted, profile.key + "\n")
    facts = [f"{len(profile.passing)} tests pass in {profile.seconds:.1f} s", profile.licence or "no licence stated"]
    facts += [f"{len(profile.flaky)} are flaky"] if profile.flaky else []
    say(f"{profile.key}: {', '.join(facts)}")
    return profile


def find_bugs(
    out: Path, profile: Profile, options: Options, pool: Pool, advance: Callable[[], None] = lambda: None
) -> Yield:
    """Try bugs until ``per_repo`` are admitted; outcomes that the journal knows are not tried again.

    ``advance`` is called once for each admitted task. Raises :class:`InfrastructureFault` if no box can be had.
    """
    tasks = TaskSet(out, {profile.key: profile}, {})
    trial = Trial(tasks=tasks, profile=profile, pool=pool, seed=options.seed, write=options.write)
    journal = Journal(tasks.repository(profile.key) / "journal.jsonl")
    try:
        search = _Search(trial, journal, options, advance)
        search.go()
    finally:
        journal.close()
    return Yield(profile=profile, instances=tuple(search.instances), reasons=search.reasons)


class _Search:
    def __init__(self, trial: Trial, journal: Journal, options: Options, advance: Callable[[], None]) -> None:
        self._trial, self._journal, self._options, self._advance = trial, journal, options, advance
        self.instances: list[Instance] = []
        self.reasons = Counter[str]()
        self._admitted: list[Mutation] = []
        self._seen: set[str] = set()
        self._left = options.per_repo * _TRIES

    def go(self) -> None:
        """Single mutations, then combinations of the admitted ones, then single ones up to the number asked for."""
        options, profile = self._options, self._trial.profile
        tree = self._trial.tasks.tree(profile)
        strategies, key, seed = options.strategies, profile.key, options.seed
        wanted = options.per_repo
        alone = wanted - wanted // _COMBINED_SHARE if set(strategies) & set(COMBINED) else wanted
        mutations = singles(tree, sources(tree, profile), strategies, key, seed)
        with ThreadPoolExecutor(options.jobs) as threads:
            stream = ((Bug.of(mutation), mutation) for mutation in mutations)
            self._try(threads, stream, alone)
            self._try(threads, ((bug, None) for bug in combinations(self._admitted, strategies, key, seed)), wanted)
            self._try(threads, stream, wanted)

    def _try(self, threads: ThreadPoolExecutor, bugs: Iterable[tuple[Bug, Mutation | None]], until: int) -> None:
        """Outcomes count in the order of the bugs, whichever ends first: the result does not depend on timing."""
        ahead: list[tuple[Future[Outcome], Mutation | None]] = []
        stream = self._fresh(bugs)
        while len(self.instances) < until:
            free = min(2 * self._options.jobs - len(ahead), self._left)
            for bug, mutation in islice(stream, max(0, free)):
                self._left -= 1
                ahead.append((threads.submit(self._outcome, bug), mutation))
            if not ahead:
                return
            future, mutation = ahead.pop(0)
            self._count(future.result(), mutation)
        for future, _ in ahead:
            future.cancel()

    def _fresh(self, bugs: Iterable[tuple[Bug, Mutation | None]]) -> Iterator[tuple[Bug, Mutation | None]]:
        for bug, mutation in bugs:
            name = digest(bug)
            if name in self._seen:
                self.reasons[DUPLICATE] += 1
                continue
            self._seen.add(name)
            yield bug, mutation

    def _outcome(self, bug: Bug) -> Outcome:
        known = self._journal.known.get(digest(bug))
        if known is None:
            known = self._trial.hold(bug)
            self._journal.add(known)
        return known

    def _count(self, outcome: Outcome, mutation: Mutation | None) -> None:
        self.reasons[outcome.reason] += 1
        if outcome.reason == ADMITTED and outcome.instance is not None:
            self.instances.append(outcome.instance)
            if mutation is not None:
                self._admitted.append(mutation)
            self._advance()
