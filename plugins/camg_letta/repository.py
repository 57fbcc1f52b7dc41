"""The repository: a work tree in ``.agent_memory``, its git directory ``.agent_memory.git`` beside it.

Git runs inside the box alone, with the harness's own directories, identity and configuration: nothing that the policy
writes (configuration, hooks, attributes, a ``.git`` of its own) acts on the host, and what of it the harness owns (the
gitfile, ``config``, the hook) is put back. The git directory lies outside the memory folder, so that snapshots of
memory do not hold git's objects. A repository that is broken is made anew from the files that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from shlex import quote

from attrs import frozen

from camg.errors import BackendUnavailable, InfrastructureFault
from camg.protocols import Box
from camg.types import CommandResult
from camg.workspace.checkpoint import FOLDER
from camg_letta.hook import HOOK

GIT = f"{FOLDER}.git"
GITFILE = f"gitdir: ../{GIT}\n"
CONFIG = f"""\
[core]
	repositoryformatversion = 0
	filemode = false
	bare = false
	logallrefupdates = true
	worktree = ../{FOLDER}
[user]
	name = agent
	email = agent@localhost
[gc]
	auto = 0
"""
READ_BYTES = 256 << 10  # of committed files that one compilation of the prompt reads
READ_FILES = 500
_EPOCH = 1_700_000_000  # commits are minutes apart from here on: an episode played again has the same ids
_NO_GIT = 127

_OWN = {
    f"{FOLDER}/.git": GITFILE.encode(),
    f"{GIT}/config": CONFIG.encode(),
    f"{GIT}/hooks/pre-commit": HOOK.encode(),
}

_PRELUDE = f"""\
export GIT_DIR="$PWD/{GIT}" GIT_WORK_TREE="$PWD/{FOLDER}" HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1
export GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 GIT_LITERAL_PATHSPECS=1 GIT_EDITOR=: GIT_PAGER=cat LC_ALL=C
export GIT_AUTHOR_NAME=agent GIT_AUTHOR_EMAIL=agent@localhost
export GIT_COMMITTER_NAME=agent GIT_COMMITTER_EMAIL=agent@localhost
git() {{
  command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false -c core.autocrlf=false "$@"
}}
"""
# of a git that a limit ended; none can be at work, since no process outlives its command
_UNLOCK = 'rm -f -- "$GIT_DIR"/*.lock "$GIT_DIR"/refs/heads/*.lock\n'
_CHECK = "git rev-parse -q --verify 'HEAD^{tree}' > /dev/null 2>&1 || exit 1\n"

# The box's own user puts back what is not a plain file of the harness's content.
_MEND = f"""\
put() {{
  if [ -L "$1" ] || [ ! -f "$1" ]; then [ -L "$1" ] || chmod -R u+rwX -- "$1" 2>/dev/null; rm -rf -- "$1"; fi
  chmod u+rw -- "$1" 2>/dev/null; printf %s "$2" > "$1"
}}
if [ -L {FOLDER} ] || [ ! -d {FOLDER} ]; then rm -rf -- {FOLDER}; mkdir {FOLDER}; fi
chmod u+rwx {FOLDER}
put {FOLDER}/.git {quote(GITFILE)}
"""
_MEND_GIT = f"""\
chmod u+rwx {GIT}
put {GIT}/config {quote(CONFIG)}
if [ -L {GIT}/hooks ] || [ ! -d {GIT}/hooks ]; then rm -rf -- {GIT}/hooks; mkdir {GIT}/hooks; fi
chmod u+rwx {GIT}/hooks
put {GIT}/hooks/pre-commit {quote(HOOK)}
chmod +x {GIT}/hooks/pre-commit
"""


class GitFailed(RuntimeError):
    """The repository cannot be used; the sentence is for the policy."""


class _Broken(GitFailed):
    """Git itself failed."""


@frozen
class Entry:
    """A committed path. ``kind``: "file", or what else stands there; ``sha``: the name of its object."""

    kind: str
    sha: str
    size: int


class Repository:
    """One episode's. Raises :class:`GitFailed` for what the policy caused, and counts ``calls`` of git."""

    def __init__(self, box: Box, seconds: float) -> None:
        self._box = box
        self._seconds = seconds
        self._runs = 0
        self.calls = 0
        self.remade = 0  # how often it was broken beyond repair

    def start(self, files: Mapping[str, str]) -> None:
        """Make the repository with ``files`` (and what is there already) committed.

        Raises :class:`BackendUnavailable` where boxes have no git, :class:`InfrastructureFault` otherwise.
        """
        try:
            for path, text in files.items():
                self._box.write(f"{FOLDER}/{path}", text.encode())
            result = self._create()
        except OSError as error:
            raise InfrastructureFault(f"the memory's files cannot be written: {error}") from error
        if result.exit_status == _NO_GIT:
            raise BackendUnavailable("the memory 'letta' needs git in the sandbox", hint="Install git.")
        if result.exit_status:
            raise InfrastructureFault(f"the memory's repository cannot be made: {_said(result)}")

    # ------------------------------------------------------------ whole or not
    def intact(self) -> bool:
        """Does the box hold what is the harness's, and a git directory? Costs no process."""
        try:
            own = all(self._box.read(path, len(data) + 1) == data for path, data in _OWN.items())
            return own and bool(self._box.read(f"{GIT}/HEAD", 1))
        except OSError:
            return False

    def repair(self) -> None:
        """Put back what is the harness's, and make the repository anew if HEAD cannot be read."""
        try:
            self._git(f"{_MEND}[ -d {GIT} ] && [ ! -L {GIT} ] || exit 1\n{_MEND_GIT}{_CHECK}", 1)
        except _Broken:
            self._anew()

    def _anew(self) -> None:
        self.remade += 1
        result = self._create()
        if result.exit_status != 0:
            raise GitFailed(f"the repository is broken and cannot be made anew: {_said(result)}")

    def _create(self) -> CommandResult:
        script = (
            f"command -v git > /dev/null || exit {_NO_GIT}\n"
            f"[ -L {GIT} ] || chmod -R u+rwX -- {GIT} 2> /dev/null\nrm -rf -- {GIT}\n"
            f"{_MEND}git init -q --template= > /dev/null || exit\n{_MEND_GIT}"
            "git symbolic-ref HEAD refs/heads/main\n"
            "git add -A 2> /dev/null\ngit commit -q --allow-empty -m 'Memory begins'\n"
        )
        return self._run(script, 4)

    # ------------------------------------------------------------ reading
    def uncommitted(self) -> list[str]:
        """Paths that differ from HEAD. A broken repository is made anew first."""
        if not self.intact():
            self.repair()
        status = f"{_UNLOCK}{_CHECK}git status --porcelain -z -uall --no-renames --ignore-submodules=all\n"
        try:
            result = self._git(status, 2, partial=True)
        except _Broken:
            self._anew()
            result = self._git(status, 2, partial=True)
        return [row[3:] for row in _text(result.output).split("\0") if len(row) > 3]

    def snapshot(self, wanted: Callable[[str], bool]) -> tuple[dict[str, Entry], dict[str, str]]:
        """What HEAD holds (of a huge tree the beginning), and the text of ``wanted`` files, within bounds.

        A broken repository is made anew first.
        """
        if not self.intact():
            self.repair()
        try:
            return self._snapshot(wanted)
        except _Broken:
            self._anew()
            return self._snapshot(wanted)

    def _snapshot(self, wanted: Callable[[str], bool]) -> tuple[dict[str, Entry], dict[str, str]]:
        result = self._git(f"{_CHECK}git ls-tree -r -z -l --full-tree HEAD\n", 2, partial=True)
        entries, chosen, left = _entries(result.output), [], READ_BYTES
        for path, entry in entries.items():
            if wanted(path) and entry.kind == "file" and entry.size <= left and len(chosen) < READ_FILES:
                chosen.append(path)
                left -= entry.size
        texts = self._contents([entries[path] for path in chosen])
        return entries, {path: _text(data, "replace") for path, data in zip(chosen, texts, strict=True)}

    def _contents(self, entries: Sequence[Entry]) -> list[bytes]:
        if not entries:
            return []
        names = " ".join(entry.sha for entry in entries)
        rest, found = self._git(f"printf '%s\\n' {names} | git cat-file --batch\n", 1).output, []
        for entry in entries:
            line, _, rest = rest.partition(b"\n")
            if line != f"{entry.sha} blob {entry.size}".encode() or len(rest) <= entry.size:
                raise _Broken("a committed file is lost")
            found.append(rest[: entry.size])
            rest = rest[entry.size + 1 :]
        return found

    # ------------------------------------------------------------ writing
    def commit(self, paths: Sequence[str], reason: str) -> str:
        """Commit the changes of ``paths``; returns the short id. What cannot be committed is undone."""
        names = " ".join(map(quote, paths))
        script = (
            f"{_UNLOCK}git add -A -f -- {names} && git commit -q -m {quote(reason)} && git rev-parse --short HEAD"
            f" || {{ git reset -q --hard HEAD; git clean -q -f -d -x -- {names}; exit 1; }}\n"
        )
        try:
            said = self._git(script, 3).output
        except _Broken as error:
            raise GitFailed(f"the change was not committed: {error}") from None
        return _text(said, "replace").strip().rpartition("\n")[2]  # before it, warnings of git

    # ------------------------------------------------------------ running git
    def _git(self, script: str, calls: int, *, partial: bool = False) -> CommandResult:
        """Run a script in the box. ``partial``: the beginning of its output is enough."""
        result = self._run(script, calls)
        if result.timed_out:
            raise GitFailed(f"git took longer than {self._seconds:g} s")
        if result.notices:
            raise GitFailed(f"git was ended: {result.notices[0]}")
        if result.dropped_bytes and not partial:
            raise GitFailed("git said more than the sandbox lets through")
        if result.exit_status:
            raise _Broken(_said(result))
        return result

    def _run(self, script: str, calls: int) -> CommandResult:
        self.calls += calls
        self._runs += 1
        date = quote(f"{_EPOCH + 60 * self._runs} +0000")
        dates = f"export GIT_AUTHOR_DATE={date} GIT_COMMITTER_DATE={date}\n"
        return self._box.run(_PRELUDE + dates + script, wall_seconds=self._seconds)


def _entries(output: bytes) -> dict[str, Entry]:
    """The rows of ``git ls-tree -z -l``: mode, kind, object and size, a tab, and the path."""
    found: dict[str, Entry] = {}
    for row in output.split(b"\0")[:-1]:  # the last one is empty, or cut
        facts, _, path = row.partition(b"\t")
        mode, _, sha, size = facts.decode("ascii").split()
        kind = {"100644": "file", "100755": "file", "120000": "a link"}.get(mode, "another repository")
        found[_text(path)] = Entry(kind, sha, int(size) if size.isdigit() else 0)
    return found


def _text(data: bytes, errors: str = "surrogateescape") -> str:
    return data.decode("utf-8", errors)


def _said(result: CommandResult) -> str:
    """What git complained of, in short."""
    text = " ".join(result.output[:2000].decode("utf-8", "replace").replace("\0", " ").split())
    return text[:200] or f"git ended with status {result.exit_status}"
