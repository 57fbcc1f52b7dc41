"""Lengths of time as text, computed in whole seconds."""

import re

UNITS = (("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
NAMES = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second"}
PART = re.compile(r"(\d+)\s*([a-z]+)")
CLOCK = re.compile(r"(?:(\d+):)?([0-5]?\d):([0-5]\d)")
ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")


class DurationError(ValueError):
    """The text is no duration."""


def unit_seconds(name):
    """Seconds of a unit: ``h``, ``hour`` or ``hours``; raises ``DurationError``."""
    for short, seconds in UNITS:
        if name in (short, NAMES[short], NAMES[short] + "s"):
            return seconds
    raise DurationError(f"unknown unit {name!r}")


def parse_duration(text):
    """Seconds of ``1h 30m``, ``2 days``, ``1:02:03`` (hours optional) or ``P1DT2H``; ``-`` in front negates.

    Every unit may stand once, the larger ones first. Raises ``DurationError``.
    """
    text = text.strip()
    if text.startswith("-"):
        return -parse_duration(text[1:])
    if match := CLOCK.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds
    if text.startswith("P"):
        return _parse_iso(text)
    return _parse_units(text)


def _parse_iso(text):
    match = ISO.fullmatch(text)
    if match is None or text.endswith(("P", "T")):
        raise DurationError(f"malformed ISO duration {text!r}")
    total = 0
    for number, (_, seconds) in zip(match.groups(), UNITS):
        if number is not None:
            total += int(number) * seconds
    return total


def _parse_units(text):
    total, position, smallest = 0, 0, None
    for match in PART.finditer(text.lower()):
        if text[position : match.start()].strip(" ,"):
            break
        seconds = unit_seconds(match.group(2))
        if smallest is not None and seconds >= smallest:
            raise DurationError(f"units of {text!r} do not descend")
        total += int(match.group(1)) * seconds
        position, smallest = match.end(), seconds
    if position == 0 or text[position:].strip():
        raise DurationError(f"expected a duration, got {text!r}")
    return total


def split(seconds):
    """``(unit, count)`` of all units of which there is at least one, the largest first; of a number >= 0."""
    parts = []
    for unit, size in UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append((unit, count))
    return parts


def format_duration(seconds, long=False, parts=None):
    """``1h 30m``; ``long``: ``1 hour 30 minutes``; ``parts``: only so many of the largest units, the rest cut off."""
    if seconds < 0:
        return "-" + format_duration(-seconds, long, parts)
    chosen = split(seconds)[:parts] or [("s", 0)]
    words = []
    for unit, count in chosen:
        if long:
            words.append(f"{count} {NAMES[unit]}" + ("" if count == 1 else "s"))
        else:
            words.append(f"{count}{unit}")
    return " ".join(words)


def format_clock(seconds):
    """``H:MM:SS``, or ``M:SS`` below an hour."""
    if seconds < 0:
        return "-" + format_clock(-seconds)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes}:{seconds:02d}"
    return f"{hours}:{minutes:02d}:{seconds:02d}"


def format_iso(seconds):
    """``P1DT2H`` (days, hours, minutes, seconds; no weeks); ``PT0S`` for nothing."""
    if seconds < 0:
        return "-" + format_iso(-seconds)
    days, rest = divmod(seconds, 86400)
    date = f"{days}D" if days else ""
    time = "".join(f"{count}{unit.upper()}" for unit, count in split(rest))
    if not date and not time:
        return "PT0S"
    return "P" + date + ("T" + time if time else "")
