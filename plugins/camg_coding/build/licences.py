"""The licence of a project, as it states it."""

from __future__ import annotations

import re
from email.message import Message
from pathlib import Path

_FILES = re.compile(r"^(licen[cs]e|copying|unlicense)", re.IGNORECASE)
_WORDS = (
    ("Apache-2.0", r"Apache License,?\s+Version 2\.0"),
    ("MPL-2.0", r"Mozilla Public License,?\s+Version 2\.0"),
    ("AGPL-3.0", r"GNU AFFERO GENERAL PUBLIC LICENSE"),
    ("LGPL", r"GNU LESSER GENERAL PUBLIC LICENSE"),
    ("GPL", r"GNU GENERAL PUBLIC LICENSE"),
    ("Unlicense", r"This is free and unencumbered software"),
    ("PSF-2.0", r"PYTHON SOFTWARE FOUNDATION LICENSE"),
    ("ISC", r"Permission to use, copy, modify, and/or distribute this software"),
    ("MIT", r"Permission is hereby granted, free of charge"),
    (
        "BSD-3-Clause",
        r"Redistribution and use in source and binary forms[\s\S]*(Neither the name|names of the contributors may not)",
    ),
    ("BSD-2-Clause", r"Redistribution and use in source and binary forms"),
)


def licence(metadata: Message, tree: Path) -> str:
    """The SPDX expression of the metadata, else its classifier, else what the licence file says; '' if none does."""
    expression = str(metadata["License-Expression"] or "").strip()
    if expression:
        return expression
    stated = _by_file(tree)
    short = str(metadata["License"] or "").strip()
    if short and len(short) <= 40 and "\n" not in short and not stated:
        return short
    if stated:
        return stated
    classifiers = [str(line) for line in metadata.get_all("Classifier") or ()]
    named = [line.rpartition("::")[2].strip() for line in classifiers if line.startswith("License ::")]
    return " AND ".join(named)


def _by_file(tree: Path) -> str:
    for path in sorted(tree.iterdir()):
        if path.is_file() and _FILES.match(path.name):
            text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8", errors="replace"))
            for name, words in _WORDS:
                if re.search(words, text):
                    return name
    return ""
