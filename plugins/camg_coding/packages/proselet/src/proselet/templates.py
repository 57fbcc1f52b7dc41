"""Templates: ``{{ name | filter }}``, ``{% if name %} … {% else %} … {% end %}``, ``{% for x in name %} … {% end %}``.

Names may be paths with dots; ``if not name`` asks for the contrary.
"""

import re

from proselet.slugs import slugify

PIECE = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)
FILTERS = {
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "trim": str.strip,
    "slug": slugify,
    "count": lambda value: str(len(value)),
    "join": lambda value: ", ".join(str(item) for item in value),
}


class TemplateError(ValueError):
    """The template is malformed, or names something that is not there."""


class Block:
    """Base of what a template is made of."""

    def write(self, values):
        """The text of this block with these values."""
        raise TypeError(f"{type(self).__name__} cannot be written")


class Text(Block):
    def __init__(self, text):
        self.text = text

    def write(self, values):
        return self.text


class Field(Block):
    def __init__(self, source):
        self.path, *self.filters = [part.strip() for part in source.split("|")]

    def write(self, values):
        value = lookup(self.path, values)
        for name in self.filters:
            if name not in FILTERS:
                raise TemplateError(f"unknown filter {name!r}")
            value = FILTERS[name](value)
        return "" if value is None else str(value)


class Group(Block):
    def __init__(self, blocks):
        self.blocks = blocks

    def write(self, values):
        return "".join(block.write(values) for block in self.blocks)


class Condition(Block):
    def __init__(self, path, then, otherwise):
        self.negated = path.startswith("not ")
        self.path = path.removeprefix("not ").strip()
        self.then = then
        self.otherwise = otherwise

    def write(self, values):
        holds = bool(lookup(self.path, values))
        if self.negated:
            holds = not holds
        return (self.then if holds else self.otherwise).write(values)


class Loop(Block):
    def __init__(self, name, path, body):
        self.name = name
        self.path = path
        self.body = body

    def write(self, values):
        written = []
        for number, item in enumerate(lookup(self.path, values), start=1):
            written.append(self.body.write({**values, self.name: item, "number": number}))
        return "".join(written)


def lookup(path, values):
    """The value at a dotted path through dictionaries, lists (by number) and attributes."""
    value = values
    for step in path.split("."):
        try:
            if isinstance(value, dict):
                value = value[step]
            elif isinstance(value, list | tuple):
                value = value[int(step)]
            else:
                value = getattr(value, step)
        except (KeyError, IndexError, ValueError, AttributeError):
            raise TemplateError(f"there is no {step!r} in {path!r}") from None
    return value


def parse(template):
    """A template as a tree of blocks; raises ``TemplateError``."""
    pieces = [piece for piece in PIECE.split(template) if piece]
    group, closing = _group(pieces)
    if closing is not None:
        raise TemplateError(f"{{% {closing} %}} closes nothing")
    return group


def _group(pieces):
    """``(blocks up to else, end or the end of the template, that word or None)``."""
    blocks = []
    while pieces:
        piece = pieces.pop(0)
        if piece.startswith("{{"):
            blocks.append(Field(piece[2:-2]))
        elif not piece.startswith("{%"):
            blocks.append(Text(piece))
        else:
            command = piece[2:-2].strip()
            if command in ("else", "end"):
                return Group(blocks), command
            blocks.append(_statement(command, pieces))
    return Group(blocks), None


def _statement(command, pieces):
    """A condition or a loop; takes its body off ``pieces``."""
    body, closing = _group(pieces)
    word, _, rest = command.partition(" ")
    otherwise = Group([])
    if word == "if" and closing == "else":
        otherwise, closing = _group(pieces)
    if closing != "end":
        raise TemplateError(f"{{% {command} %}} is not closed")
    if word == "if" and rest:
        return Condition(rest.strip(), body, otherwise)
    name, middle, path = (rest.split() + ["", "", ""])[:3]
    if word == "for" and middle == "in" and path:
        return Loop(name, path, body)
    raise TemplateError(f"unknown statement {command!r}")


def render(template, values):
    """The template filled with a dictionary of values; ``number`` counts from 1 inside loops."""
    return parse(template).write(values)
