"""A comparison as text: the paper's Table 2 for terminals, and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from camg.evaluate.statistics import Interval
from camg.report.comparison import Comparison, Figure, Method, excludes_zero
from camg.report.load import MEASURES

NA = "N/A"
Rows = list[list[str]]


def tables(comparison: Comparison, width: int) -> list[tuple[str, Rows]]:
    """``(title, rows)``, the heading first: for each measure a row for each method, or what fits into ``width``.

    Where there are several environments, the differences in each follow. Where the terminal is too narrow for a column
    for each environment, there is a row for each instead.
    """
    found: list[tuple[str, Rows]] = []
    for measure, words in MEASURES.items():
        title = f"{words[0].upper()}{words[1:]} on held-out tasks, %"
        wide = _wide(comparison, measure)
        apart = _differences(comparison, measure) if len(comparison.envs) > 1 else None
        if max(map(table_width, filter(None, (wide, apart)))) > width:
            found.append((title, _long(comparison, measure)))
            continue
        found.append((title, wide))
        if apart is not None and len(comparison.methods) > 1:
            found.append((f"{title}: difference to {comparison.methods[0].label}", apart))
    return found


def table_width(rows: Sequence[Sequence[str]]) -> int:
    """Characters of a line, with two blanks between columns."""
    return sum(max(len(row[column]) for row in rows) + 2 for column in range(len(rows[0]))) - 2


def remarks(comparison: Comparison) -> list[str]:
    """What a reader must know beside the figures, and why some are N/A."""
    most = max(len(method.seeds) for method in comparison.methods)
    over = f"Mean over {most} seeds, at" if most > 1 else "At"
    found = [f"[ ]: 95 % interval over tasks. {over} the training temperature."]
    if len(comparison.methods) > 1:
        found.append(
            f"Difference to {comparison.methods[0].label} in points, paired by seed and task; "
            "*: its interval excludes zero. Intervals do not hold how runs with other seeds would vary."
        )
    if len(comparison.envs) > 1:
        found.append("average: unweighted mean over the environments.")
    for method in comparison.methods:
        found += [f"N/A: {method.label}, {reason}" for reason in method.lacks]
    return found


def _wide(comparison: Comparison, measure: str) -> Rows:
    first = comparison.methods[0]
    rows = [["method", *comparison.columns, f"difference to {first.label}"]]
    last = comparison.columns[-1]
    for method in comparison.methods:
        figures = method.figures[measure]
        shares = [_value(figures[name], interval=name == last) for name in comparison.columns]
        rows.append([method.label, *shares, _against(figures[last], method is first)])
    return rows if len(comparison.methods) > 1 else [row[:-1] for row in rows]


def _differences(comparison: Comparison, measure: str) -> Rows:
    rows = [["method", *comparison.envs]]
    for method in comparison.methods[1:]:
        rows.append([method.label, *(_against(method.figures[measure][env], False) for env in comparison.envs)])
    return rows


def _long(comparison: Comparison, measure: str) -> Rows:
    first = comparison.methods[0]
    rows = [["method", "env", "%", "difference"]]
    for method in comparison.methods:
        for number, name in enumerate(comparison.columns):
            figure = method.figures[measure][name]
            label = method.label if number == 0 else ""
            rows.append([label, name, _value(figure, interval=True), _against(figure, method is first)])
    return rows


def _value(figure: Figure, *, interval: bool) -> str:
    if figure.value is None:
        return NA
    text = f"{100 * figure.value.estimate:.1f}"
    return f"{text} [{100 * figure.value.low:.1f}, {100 * figure.value.high:.1f}]" if interval else text


def _against(figure: Figure, is_first: bool) -> str:
    if is_first:
        return "-"
    return NA if figure.difference is None else difference_words(figure.difference)


def difference_words(difference: Interval) -> str:
    """In points: ``"-6.4 [-9.5, -3.3] *"``; the star: the interval excludes zero."""
    words = f"{_points(difference.estimate)} [{_points(difference.low)}, {_points(difference.high)}]"
    return f"{words} *" if excludes_zero(difference) else words


def _points(share: float) -> str:
    points = round(100 * share, 1) + 0.0  # no minus before a zero
    return f"{points:+.1f}" if points else "0.0"


def to_csv(comparison: Comparison) -> str:
    """One line for each measure, method and environment (or average); shares between 0 and 1, empty for N/A."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    heading = "measure method env seeds value low high difference difference_low difference_high excludes_zero"
    writer.writerow(heading.split())
    for measure in MEASURES:
        for method in comparison.methods:
            writer.writerows(_csv_rows(comparison, method, measure))
    return stream.getvalue()


def _csv_rows(comparison: Comparison, method: Method, measure: str) -> Iterator[list[str]]:
    for name in comparison.columns:
        figure = method.figures[measure][name]
        bounds = [*_numbers(figure.value), *_numbers(figure.difference)]
        zero = "" if figure.difference is None else str(excludes_zero(figure.difference)).lower()
        yield [measure, method.label, name, " ".join(method.seeds), *bounds, zero]


def _numbers(interval: Interval | None) -> list[str]:
    if interval is None:
        return ["", "", ""]
    return [f"{number:.6f}" for number in (interval.estimate, interval.low, interval.high)]
