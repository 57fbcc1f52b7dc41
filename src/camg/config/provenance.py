"""What a run was made on: the revision of the code and the machine, for its manifest."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "attrs", "pluggy", "click", "safetensors")


def git_state() -> dict[str, Any] | None:
    """Revision of the work tree that holds CAMG's code, and whether it has changes; None for an installed copy."""
    here = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(here), *arguments], capture_output=True, text=True, timeout=5, check=True
        )
        return done.stdout.strip()

    try:
        if not git("ls-files", Path(__file__).name):
            return None  # the package lies in somebody else's work tree, e.g. below an ignored .venv
        return {"revision": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


def machine() -> dict[str, Any]:
    """Operating system, processors, memory, Python and the libraries that decide numbers. No user or host names."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        memory = 0
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": affinity,
        "memory_bytes": memory,
        "python": sys.version.split()[0],
        "libraries": {name: version for name in LIBRARIES if (version := _version(name))},
        "gpus": sorted(path.name for path in Path("/proc/driver/nvidia/gpus").glob("*")),
    }


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
