"""Days, durations, recurrences and business days."""

from almanette.business import BusinessCalendar, easter
from almanette.days import Day, DayError, days_in_month, is_leap
from almanette.durations import DurationError, format_clock, format_duration, format_iso, parse_duration
from almanette.recurrence import Daily, Monthly, Rule, Weekly, Yearly

__all__ = [
    "BusinessCalendar",
    "Daily",
    "Day",
    "DayError",
    "DurationError",
    "Monthly",
    "Rule",
    "Weekly",
    "Yearly",
    "days_in_month",
    "easter",
    "format_clock",
    "format_duration",
    "format_iso",
    "is_leap",
    "parse_duration",
]
