"""Durations."""

import pytest

from almanette import DurationError, format_clock, format_duration, format_iso, parse_duration

HOUR = 3600
DAY = 86400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1h 30m", 5400),
        ("1h30m", 5400),
        ("2 days, 1 hour", 2 * DAY + HOUR),
        ("1 week", 7 * DAY),
        ("3 Minutes 1 second", 181),
        ("-5m", -300),
        ("0s", 0),
        ("1:02:03", HOUR + 123),
        ("02:03", 123),
        ("P1DT2H", DAY + 2 * HOUR),
        ("PT5M", 300),
        ("P2W", 14 * DAY),
        ("-PT1S", -1),
    ],
)
def test_parse(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a duration"),
        ("5", "expected a duration"),
        ("5 parsecs", "unknown unit"),
        ("1m 1h", "do not descend"),
        ("1h 2h", "do not descend"),
        ("1h and 2m", "expected a duration"),
        ("P", "malformed ISO"),
        ("P1DT", "malformed ISO"),
        ("P1H", "malformed ISO"),
    ],
)
def test_refused(text, message):
    with pytest.raises(DurationError, match=message):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "short", "long", "clock", "iso"),
    [
        (0, "0s", "0 seconds", "0:00", "PT0S"),
        (61, "1m 1s", "1 minute 1 second", "1:01", "PT1M1S"),
        (7322, "2h 2m 2s", "2 hours 2 minutes 2 seconds", "2:02:02", "PT2H2M2S"),
        (DAY, "1d", "1 day", "24:00:00", "P1D"),
        (9 * DAY + 60, "1w 2d 1m", "1 week 2 days 1 minute", "216:01:00", "P9DT1M"),
        (-90, "-1m 30s", "-1 minute 30 seconds", "-1:30", "-PT1M30S"),
    ],
)
def test_format(seconds, short, long, clock, iso):
    assert format_duration(seconds) == short
    assert format_duration(seconds, long=True) == long
    assert format_clock(seconds) == clock
    assert format_iso(seconds) == iso


@pytest.mark.parametrize(("parts", "text"), [(1, "1d"), (2, "1d 2h"), (9, "1d 2h 3m 4s")])
def test_parts(parts, text):
    assert format_duration(DAY + 2 * HOUR + 184, parts=parts) == text


@pytest.mark.parametrize("write", [format_duration, format_iso, format_clock])
def test_round_trip(write):
    for seconds in (0, 59, 60, 3661, 86399, 700000, -45):
        assert parse_duration(write(seconds)) == seconds
