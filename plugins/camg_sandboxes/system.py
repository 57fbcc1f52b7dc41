"""What every box of one keeper shares: a small ``/etc``, the system folders, the interpreter, the bwrap arguments."""

from __future__ import annotations

import math
import os
import py_compile
import shutil
import socket
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from camg_sandboxes import agent, seccomp

UID = 1000  # inside every box
HOME = "/workspace"
# ``python -I -S -c STUB FOLDER MODULE ARGUMENTS...``: run a module of this package, without site packages and without
# its ``__init__``, which needs them.
STUB = (
    "import importlib, sys, types; package = types.ModuleType('camg_sandboxes'); package.__path__ = [sys.argv[1]];"
    "sys.modules['camg_sandboxes'] = package;"
    "importlib.import_module('camg_sandboxes.' + sys.argv[2]).main(sys.argv[3:])"
)
CONTROL_FD = 3  # the agent's end of its socket
_CEILING_SLACK = 512  # processes that this user may start beside the box
_LIBRARIES = "/etc/camg/lib"
_AGENT = "/etc/camg/agent.pyc"
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_FILES = {
    "passwd": f"root:x:0:0::/:/bin/false\nagent:x:{UID}:{UID}::{HOME}:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n",
    "group": f"root:x:0:\nagent:x:{UID}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost box\n::1 localhost\n",
    "hostname": "box\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "gitconfig": "[user]\n\tname = agent\n\temail = agent@localhost\n[init]\n\tdefaultBranch = main\n"
    "[safe]\n\tdirectory = *\n",
}
_COPIED = ("ld.so.cache", "localtime")
_COPIED_TREES = ("alternatives",)


def environment(home: str, path: str) -> dict[str, str]:
    """All that a command finds in its environment."""
    return {"HOME": home, "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "USER": "agent"}


def limit_arguments(limits: Mapping[str, float], *, counted_alone: bool) -> list[str]:
    """The agent's PROCESSES, CEILING, MEMORY, FILE_BYTES and CPU.

    The kernel enforces the ceiling, the agent the number itself. ``counted_alone``: the kernel counts the box's
    processes (and its agent) by themselves; else all processes of this user, and the ceiling leaves them room.
    """
    limit = int(limits["processes"])
    ceiling = limit + 1 if counted_alone else limit + _user_threads() + _CEILING_SLACK
    sizes = int(limits["memory_bytes"]), int(limits["file_bytes"])
    return [str(number) for number in (limit, ceiling, *sizes, max(1, math.ceil(limits["cpu_seconds"])))]


def _user_threads() -> int:
    """Threads of this process's user now."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == os.getuid():
                    total += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                continue  # ended meanwhile
    return total


def command(module: str) -> list[str]:
    """The command line that runs ``main`` of a module of this package; its arguments follow."""
    return [sys.executable, "-I", "-S", "-c", STUB, os.path.dirname(os.path.abspath(__file__)), module]


@dataclass(frozen=True)
class Interpreter:
    """The Python that boxes offer and that runs their agent."""

    inside: str  # its path in the box
    prefix: str | None  # host folder to bind at /opt/python; None: it lies in /usr
    compiled: bool  # of our own version: may run compiled code

    @classmethod
    def find(cls) -> Interpreter:
        """Our own, else the system's. Raises ``RuntimeError`` if there is none."""
        binary, prefix = os.path.realpath(sys.executable), os.path.realpath(sys.base_prefix)
        if binary.startswith("/usr/"):
            return cls(binary, None, True)
        if binary.startswith(prefix + "/") and prefix != "/":
            return cls("/opt/python" + binary[len(prefix) :], prefix, True)
        for binary in ("/usr/bin/python3", "/usr/local/bin/python3"):
            if os.access(binary, os.X_OK):
                return cls(binary, None, False)
        raise RuntimeError(f"no Python for boxes: {sys.executable} lies outside its prefix, and /usr/bin has none")


@dataclass(frozen=True)
class System:
    """The fixed part of every box. ``folder`` is the keeper's own folder; ``stage`` its empty mount point."""

    folder: str
    bwrap: str
    interpreter: Interpreter = field(default_factory=Interpreter.find)

    @property
    def stage(self) -> str:
        return f"{self.folder}/stage"

    @property
    def packages(self) -> str | None:
        """Where a box would see what is installed beside us, environments and their graders too; None: nowhere.

        Without a virtual environment (conda, a container's own Python) that is a folder of the interpreter or of /usr.
        """
        folder = os.path.realpath(os.path.dirname(os.path.dirname(agent.__file__)))
        prefix = self.interpreter.prefix
        if prefix and folder.startswith(prefix + "/"):
            return "/opt/python" + folder[len(prefix) :]
        return folder if folder.startswith("/usr/") else None

    def write(self) -> None:
        """Fill ``folder``: the boxes' ``/etc`` with the agent, and the mount point."""
        etc = f"{self.folder}/etc"
        os.makedirs(f"{etc}/camg", 0o755)
        os.mkdir(self.stage, 0o755)
        os.mkdir(f"{self.folder}/nothing", 0o755)
        for name, text in _FILES.items():
            with open(f"{etc}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        for name in _COPIED:
            if os.path.exists(f"/etc/{name}"):
                shutil.copyfile(f"/etc/{name}", f"{etc}/{name}")
        for name in _COPIED_TREES:
            if os.path.isdir(f"/etc/{name}"):
                shutil.copytree(f"/etc/{name}", f"{etc}/{name}", symlinks=True)
        if self._shared_library:  # alone in its folder: the prefix's other libraries must not shadow the system's
            os.mkdir(f"{etc}/camg/lib")
            os.symlink(f"/opt/python/lib/{self._shared_library}", f"{etc}/camg/lib/{self._shared_library}")
        source = agent.__file__
        if self.interpreter.compiled:
            py_compile.compile(source, f"{etc}/camg/agent.pyc", doraise=True)
        else:
            shutil.copyfile(source, f"{etc}/camg/agent.pyc")
        for folder, _, names in os.walk(etc):
            os.chmod(folder, 0o755)
            for name in names:
                if not os.path.islink(f"{folder}/{name}"):
                    os.chmod(f"{folder}/{name}", 0o644)
        os.chmod(self.stage, 0o755)

    def bwrap_arguments(self) -> list[str]:
        """Everything but the box's own inputs, its filter and its command."""
        arguments = (
            "--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try"
            f" --disable-userns --uid {UID} --gid {UID} --hostname box --die-with-parent --new-session --as-pid-1"
            " --clearenv --ro-bind /usr /usr"
        ).split()
        for name in _SYSTEM_FOLDERS:
            path = f"/{name}"
            if os.path.islink(path):
                arguments += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                arguments += ["--ro-bind", path, path]
        if self.interpreter.prefix:
            arguments += ["--ro-bind", f"{self.stage}/python", "/opt/python"]
        if self.packages:
            arguments += ["--ro-bind", f"{self.folder}/nothing", self.packages]
        if self._library_path:
            arguments += ["--setenv", "LD_LIBRARY_PATH", self._library_path]
        arguments += ["--ro-bind", f"{self.folder}/etc", "/etc", "--proc", "/proc", "--dev", "/dev"]
        for name, path in (("shm", "/dev/shm"), ("tmp", "/tmp"), ("workspace", HOME)):
            arguments += ["--bind", f"{self.stage}/{name}", path]
        return [*arguments, "--symlink", "../tmp", "/var/tmp", "--dir", "/run", "--chdir", HOME]

    def hiding_arguments(self, paths: Sequence[str]) -> list[str]:
        """Cover system paths with nothing; those that boxes do not have are left out."""
        arguments = []
        for path in paths:
            source = path
            if self.interpreter.prefix and path.startswith("/opt/python/"):
                source = self.interpreter.prefix + path.removeprefix("/opt/python")
            elif not path.startswith("/usr/"):
                raise ValueError(f"only paths below /usr and /opt/python can be hidden, not {path}")
            if os.path.isdir(source):
                arguments += ["--ro-bind", f"{self.folder}/nothing", path]
            elif os.path.exists(source):
                arguments += ["--ro-bind", "/dev/null", path]
        return arguments

    def agent_arguments(self, limits: dict[str, float], extra: Mapping[str, str], *, counted_alone: bool) -> list[str]:
        """The command of a box: its agent, with the box's limits. ``counted_alone``: see :func:`limit_arguments`."""
        path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
        if self.interpreter.prefix:
            path = f"/opt/python/bin:{path}"
        variables = {**environment(HOME, path), **extra}
        if self._library_path:
            variables["LD_LIBRARY_PATH"] = self._library_path
        return [
            *(self.interpreter.inside, "-I", "-S", _AGENT, "box", "-1", str(CONTROL_FD)),
            *limit_arguments(limits, counted_alone=counted_alone),
            *(f"{name}={value}" for name, value in variables.items()),
        ]

    @property
    def _library_path(self) -> str:
        """A relocated interpreter finds its shared library no more by the path that was compiled in."""
        return _LIBRARIES if self._shared_library else ""

    @property
    def _shared_library(self) -> str:
        name = sysconfig.get_config_var("INSTSONAME") or ""
        shared = self.interpreter.prefix and sysconfig.get_config_var("Py_ENABLE_SHARED")
        return name if shared and os.path.exists(f"{self.interpreter.prefix}/lib/{name}") else ""


def receive(control: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """One message and the descriptors that came with it, closed on exec (Python's ``recv_fds`` leaves them open)."""
    data, descriptors, _, _ = socket.recv_fds(control, size, 1, socket.MSG_CMSG_CLOEXEC)
    return data, descriptors


def filter_descriptor() -> int | None:
    """An open file with the system-call filter, for ``bwrap --seccomp``; None where the machine is unknown."""
    code = seccomp.program()
    if code is None:
        return None
    descriptor = os.memfd_create("camg-filter", 0)
    os.write(descriptor, code)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
