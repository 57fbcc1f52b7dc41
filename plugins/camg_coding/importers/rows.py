"""One row of SWE-smith, SWE-bench or SWE-Gym becomes an :class:`Instance`. Field names are those of the data sets.

The formats differ where it hurts: SWE-smith's ``patch`` *introduces* the bug, the others' is the repair; SWE-smith's
``repo`` may name a mirror at one revision; its hidden tests lie in the tree, the others' come with ``test_patch``;
only SWE-smith's rows name an image, the others' follow from the id.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any

from camg.errors import DataError
from camg_coding.importers.patch import patch_paths
from camg_coding.importers.report import Malformed
from camg_coding.importers.testids import file_of, id_list, is_node_id
from camg_coding.names import split_mirror
from camg_coding.records import BUG, FIX, Instance

SWE_SMITH, SWE_BENCH, SWE_GYM = "swe-smith", "swe-bench", "swe-gym"
AUTO = "auto"

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@-]{0,199}")  # names a folder
_SMITH_ID = re.compile(r"(?P<repo>[^/\s]+?__[^/\s]+\.(?P<commit>[0-9a-f]{8}))\.(?P<strategy>[A-Za-z0-9_.-]+)")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_HASH = re.compile(r"__[A-Za-z0-9]+$")


def tell_format(row: Mapping[str, Any]) -> str:
    """The format that the fields of ``row`` tell. Raises :class:`Malformed` where they tell none, or more than one."""
    mirror = bool(_SMITH_ID.fullmatch(str(row.get("instance_id")))) or str(row.get("repo")).startswith("swesmith/")
    if row.get("test_patch") is None:
        if mirror or row.get("image_name"):
            return SWE_SMITH
        raise Malformed("unknown format", "it has neither image_name (SWE-smith) nor test_patch (SWE-bench, SWE-Gym)")
    if mirror:
        raise Malformed("ambiguous format", "named as SWE-smith's, with a test_patch as SWE-bench's: pass --format")
    if row.get("environment_setup_commit") is not None:
        return SWE_BENCH
    if row.get("version") is not None:  # SWE-Gym has the fields of SWE-bench but this one
        return SWE_GYM
    raise Malformed(
        "ambiguous format", "it has neither environment_setup_commit (SWE-bench) nor version: pass --format"
    )


def convert(row: Mapping[str, Any], format: str) -> Instance:
    """The instance of ``row``, without a profile. Raises :class:`Malformed`."""
    return CONVERTERS[format](row)


def identify(row: Any) -> str:
    """The row's instance_id where it has one, however broken the rest is."""
    found = row.get("instance_id") if isinstance(row, Mapping) else None
    return found[:200] if isinstance(found, str) else ""


def _smith(row: Mapping[str, Any]) -> Instance:
    instance_id = _instance_id(row)
    named = _SMITH_ID.fullmatch(instance_id)
    repo, commit = _repository(row, "repo") if row.get("repo") else ("", "")
    if named and not (repo and commit):
        own, commit = split_mirror(named["repo"])
        repo = repo or own
    if not repo:
        raise Malformed("missing field repo")
    base = _commit(_text(row, "base_commit", needed=False) or commit)
    if not base.startswith(commit):
        base = commit  # the row's is the mirror's: the repository itself does not have it
    failing, passing = _tests(row)
    hidden = tuple(dict.fromkeys(file_of(test) for test in failing if is_node_id(test)))
    patch = _text(row, "patch")
    changed = set(patch_paths(patch)) & set(hidden)
    if changed:
        raise Malformed("patch changes the tests", ", ".join(sorted(changed)))
    return Instance(
        instance_id=instance_id,
        repo=repo,
        profile="",
        patch=_ended(patch),
        polarity=BUG,
        FAIL_TO_PASS=failing,
        PASS_TO_PASS=passing,
        problem_statement=_statement(row),
        strategy=_strategy(named["strategy"]) if named else "",
        hidden_tests=hidden,
        image_name=_text(row, "image_name", needed=False),
        base_commit=base,
        created_at=_date(row),
    )


def _bench(row: Mapping[str, Any], image: Callable[[str], str]) -> Instance:
    instance_id = _instance_id(row)
    repo, _ = _repository(row, "repo")
    failing, passing = _tests(row)
    patch, test_patch = _text(row, "patch"), _text(row, "test_patch")
    both = set(patch_paths(patch)) & set(patch_paths(test_patch))
    if both:
        raise Malformed("patch changes the tests", ", ".join(sorted(both)))
    _text(row, "version", needed=False)
    return Instance(
        instance_id=instance_id,
        repo=repo,
        profile="",
        patch=_ended(patch),
        polarity=FIX,
        FAIL_TO_PASS=failing,
        PASS_TO_PASS=passing,
        problem_statement=_statement(row),
        test_patch=_ended(test_patch),
        image_name=_text(row, "image_name", needed=False) or image(instance_id),
        base_commit=_commit(_text(row, "base_commit")),
        created_at=_date(row),
    )


def bench_image(instance_id: str) -> str:
    """Where SWE-bench's harness publishes the image of an instance."""
    return f"swebench/sweb.eval.x86_64.{instance_id.replace('__', '_1776_')}:latest".lower()


def gym_image(instance_id: str) -> str:
    """Where SWE-Gym publishes the image of an instance."""
    return f"xingyaoww/sweb.eval.x86_64.{instance_id.replace('__', '_s_')}:latest".lower()


CONVERTERS: Mapping[str, Callable[[Mapping[str, Any]], Instance]] = {
    SWE_SMITH: _smith,
    SWE_BENCH: lambda row: _bench(row, bench_image),
    SWE_GYM: lambda row: _bench(row, gym_image),
}
FORMATS = (AUTO, *CONVERTERS)


# ---------------------------------------------------------------- fields
def _text(row: Mapping[str, Any], name: str, *, needed: bool = True) -> str:
    value = row.get(name)
    if value is None or value == "":
        if needed:
            raise Malformed(f"missing field {name}")
        return ""
    if not isinstance(value, str):
        raise Malformed(f"wrong type of {name}", f"expected a string, got {type(value).__name__}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Malformed("text that is not Unicode", f"{name}, character {error.start + 1}") from error
    return value


def _instance_id(row: Mapping[str, Any]) -> str:
    value = _text(row, "instance_id")
    if not _ID.fullmatch(value) or ".." in value:
        raise Malformed(
            "malformed instance_id", f"expected letters, digits and ._+=@- (it names a folder): {value!r:.120}"
        )
    return value


def _repository(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    try:
        return split_mirror(_text(row, name))
    except DataError as error:
        raise Malformed(f"malformed {name}", error.message) from error


def _commit(value: str) -> str:
    if value and not _COMMIT.fullmatch(value.lower()):
        raise Malformed("malformed base_commit", f"expected hexadecimal digits, got {value!r:.80}")
    return value.lower()


def _statement(row: Mapping[str, Any]) -> str:
    value = _text(row, "problem_statement", needed=False)
    if not value.strip():
        raise Malformed("empty problem statement")
    return value


def _tests(row: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for name in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        if row.get(name) is None:
            raise Malformed(f"missing field {name}")
    failing = id_list("FAIL_TO_PASS", row["FAIL_TO_PASS"])
    passing = id_list("PASS_TO_PASS", row["PASS_TO_PASS"])
    both = set(failing) & set(passing)
    if both:
        raise Malformed("test in both lists", min(both)[:120])
    return failing, passing


def _date(row: Mapping[str, Any]) -> str:
    value = row.get("created_at")
    if isinstance(value, datetime.datetime | datetime.date):  # parquet has a type for it
        return value.isoformat()
    return _text(row, "created_at", needed=False)


def _strategy(text: str) -> str:
    """``func_pm_op_swap__3k2j9x1a`` -> ``func_pm_op_swap``; ``pr_1234`` -> ``pr_mirror``."""
    return "pr_mirror" if re.fullmatch(r"pr_\d+", text) else _HASH.sub("", text)


def _ended(patch: str) -> str:
    return patch if patch.endswith("\n") else patch + "\n"
