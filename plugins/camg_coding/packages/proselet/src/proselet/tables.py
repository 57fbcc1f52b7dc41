"""Rows of values to tables of text."""

from dataclasses import dataclass

from proselet.wrapping import shorten

ALIGNMENTS = ("left", "right", "centre")


@dataclass(frozen=True)
class Column:
    """A column: its title, ``left``, ``right`` or ``centre``, and its greatest width (None: as wide as needed)."""

    title: str
    align: str = "left"
    limit: int | None = None

    def __post_init__(self):
        if self.align not in ALIGNMENTS:
            raise ValueError(f"expected an alignment of {', '.join(ALIGNMENTS)}, got {self.align!r}")

    def pad(self, text, width):
        """The text with blanks up to ``width``; in the centre, the odd blank is on the right."""
        missing = max(0, width - len(text))
        if self.align == "left":
            return text + " " * missing
        if self.align == "right":
            return " " * missing + text
        left = missing // 2
        return " " * left + text + " " * (missing - left)


class Table:
    """Base: collects rows, knows the widths; subclasses draw."""

    def __init__(self, columns):
        self.columns = [column if isinstance(column, Column) else Column(column) for column in columns]
        if not self.columns:
            raise ValueError("a table needs at least one column")
        self.rows = []

    def add(self, *values):
        """Add a row; as many values as columns."""
        if len(values) != len(self.columns):
            raise ValueError(f"expected {len(self.columns)} values, got {len(values)}")
        self.rows.append([self.cell(value, column) for value, column in zip(values, self.columns)])

    def cell(self, value, column):
        """The text of a value: nothing for None, two decimals for floats, yes or no; shortened to the limit."""
        if value is None:
            text = ""
        elif isinstance(value, bool):
            text = "yes" if value else "no"
        elif isinstance(value, float):
            text = f"{value:.2f}"
        else:
            text = str(value)
        return text if column.limit is None else shorten(text, column.limit)

    def sort(self, title, reverse=False):
        """Sort the rows by the text of a column; raises ``KeyError`` for an unknown title."""
        titles = [column.title for column in self.columns]
        if title not in titles:
            raise KeyError(title)
        index = titles.index(title)
        self.rows.sort(key=lambda row: row[index], reverse=reverse)

    def widths(self):
        """The width of each column: its longest cell or its title."""
        widths = []
        for index, column in enumerate(self.columns):
            cells = [len(row[index]) for row in self.rows]
            widths.append(max([len(column.title), *cells]))
        return widths

    def padded(self, cells):
        """The cells of one row, each as wide as its column."""
        return [column.pad(cell, width) for column, cell, width in zip(self.columns, cells, self.widths())]

    def titles(self):
        return self.padded([column.title for column in self.columns])


class PlainTable(Table):
    """Columns two blanks apart, a line of dashes below the titles, no blanks at the ends of lines."""

    def __str__(self):
        lines = ["  ".join(self.titles()), "  ".join("-" * width for width in self.widths())]
        lines += ["  ".join(self.padded(row)) for row in self.rows]
        return "\n".join(line.rstrip() for line in lines)


class MarkdownTable(Table):
    """A table of GitHub's Markdown; ``|`` in cells is escaped."""

    def cell(self, value, column):
        return super().cell(value, column).replace("|", "\\|")

    def rule(self):
        """The marks below the titles, with colons for right and centre."""
        marks = []
        for column, width in zip(self.columns, self.widths()):
            dashes = "-" * max(3, width)
            if column.align == "right":
                dashes = dashes[:-1] + ":"
            elif column.align == "centre":
                dashes = ":" + dashes[1:-1] + ":"
            marks.append(dashes)
        return marks

    def widths(self):
        return [max(3, width) for width in super().widths()]

    def __str__(self):
        lines = [self.titles(), self.rule(), *[self.padded(row) for row in self.rows]]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
