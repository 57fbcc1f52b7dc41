"""Paragraphs to lines of a given width."""


def wrap(text, width, first="", rest=""):
    """Cut ``text`` into lines of at most ``width`` characters, at blanks where possible.

    The first line begins with ``first``, the others with ``rest``; both count. A word that is too long for a line of
    its own is cut. Runs of blanks and newlines count as one blank; an empty text gives no line.
    """
    if width <= max(len(first), len(rest)):
        raise ValueError(f"expected a width above {max(len(first), len(rest))}, got {width}")
    lines = []
    prefix, line = first, ""
    for word in text.split():
        while word:
            room = width - len(prefix)
            joined = f"{line} {word}" if line else word
            if len(joined) <= room:
                line, word = joined, ""
            elif line:
                lines.append(prefix + line)
                prefix, line = rest, ""
            else:
                lines.append(prefix + word[:room])
                prefix, word = rest, word[room:]
    if line:
        lines.append(prefix + line)
    return lines


def fill(text, width, first="", rest=""):
    """``wrap`` paragraph by paragraph (they are separated by empty lines), joined to one text."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        lines = wrap(paragraph, width, first, rest)
        if lines:
            paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def justify(line, width):
    """Widen the gaps of a line until it has ``width`` characters; the gaps on the left get the odd blanks.

    A line of one word, or one that is already as wide, stays as it is (apart from runs of blanks).
    """
    words = line.split()
    gaps = len(words) - 1
    missing = width - sum(len(word) for word in words)
    if gaps < 1 or missing < gaps:
        return " ".join(words)
    small, larger = divmod(missing, gaps)
    pieces = [words[0]]
    for number, word in enumerate(words[1:]):
        pieces.append(" " * (small + 1 if number < larger else small))
        pieces.append(word)
    return "".join(pieces)


def indent(text, prefix, first=None):
    """Put ``prefix`` before every line that is not blank, and ``first`` (if given) before the first such line."""
    lines = []
    lead = prefix if first is None else first
    for line in text.split("\n"):
        if line.strip():
            lines.append(lead + line)
            lead = prefix
        else:
            lines.append(line)
    return "\n".join(lines)


def shorten(text, width, mark="…"):
    """The text if it fits into ``width``, else as many whole words as fit together with ``mark`` behind them."""
    if len(mark) > width:
        raise ValueError(f"the mark {mark!r} is wider than {width}")
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    kept = ""
    for word in text.split():
        longer = f"{kept} {word}" if kept else word
        if len(longer) + len(mark) > width:
            break
        kept = longer
    return kept + mark
