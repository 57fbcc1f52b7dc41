"""The eight task families (paper, Table 4): what each session's request says, and which listing is right.

A :class:`Draw` fixes everything that a counterfactual pair shares: products, order of the listings, schedule, chance
bits. ``root`` picks the value that the dependency turns on, and flips between the two members of a pair. Distractor
robustness pairs a clean with a noisy profile instead: its answer is preserved, its root is one of the chance bits.

``dependent`` marks sessions whose request is the same whatever the root is, while the target is not: those only memory
can tell. The rules are said in words here and read back from the words, independently, in ``camg_shop.reading``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

FAMILIES = (
    "chain",
    "latent",
    "recency",
    "distractor",
    "compositional",
    "negative",
    "clarification",
    "selective",
)
TITLES: Mapping[str, str] = {
    "chain": "natural attribute chain",
    "latent": "latent preference",
    "recency": "recency override",
    "distractor": "distractor robustness",
    "compositional": "compositional recall",
    "negative": "negative constraint",
    "clarification": "intent clarification",
    "selective": "selective memory use",
}
PRESERVING = frozenset({"distractor"})  # members differ in noise, not in the answer

CHANCE: Mapping[str, tuple[int, ...]] = {
    "chain": (2, 2, 2, 2, 2),  # is the table of session s swapped?
    "latent": (),
    "recency": (),
    "distractor": (2, 4, 4),  # root; place of the right record among the noise; which other customer
    "compositional": (3, 2, 2),  # pair of tokens; stated value of session 1; is the directory swapped?
    "negative": (3, 2),  # which of the three values no pair member wants; order of the two names
    "clarification": (),
    "selective": (2, 2, 2, 2),  # places of the two sessions that state a value, and those values
}
"""Radices of the family's own chance digits. Every digit shows in the task: distinct draws are distinct tasks."""

TOKENS = (("K7", "M2"), ("R5", "T9"), ("W3", "Z8"))
STRANGERS = ("Noah Berg", "Ida Holm", "Theo Lang", "Ruth Vale")


@frozen
class Draw:
    """What chance fixed: ``orders[s]`` is the value number at each place of session s's listings."""

    axis: str
    values: tuple[str, ...]
    customer: str
    evidence: int  # 1 to 3: number of revealing sessions (latent), place of the override (recency), schedule (all)
    orders: tuple[tuple[int, ...], ...]
    chance: tuple[int, ...]

    @property
    def sessions(self) -> int:
        """Purchases."""
        return len(self.orders)

    def place(self, session: int, value: int) -> int:
        """The place, from 1, of a value's listing."""
        return self.orders[session].index(value) + 1


@frozen
class Row:
    """One session of one member.

    ``target`` is a value number. ``reveals``: the request tells the root apart. ``dependent``: it does not, yet the
    target turns on the root, so memory (or, in the clarification's first session, a question) must.
    """

    request: str
    target: int
    reveals: bool = False
    dependent: bool = False
    reply: str = ""


def script(family: str, draw: Draw, root: int, noisy: bool) -> tuple[Row, ...]:
    """The member with the given root (0 or 1) and, for the distractor family, noise."""
    return tuple(_WRITERS[family](draw, root, noisy))


def _confirm(draw: Draw, session: int, value: int) -> str:
    return f"The customer confirms listing {draw.place(session, value)} for its {draw.axis}."


def _first(request: str, target: int) -> Row:
    return Row(request, target, reveals=True)


def _later(draw: Draw, request: str, target: int, count: int) -> list[Row]:
    return [Row(request.format(axis=draw.axis), target, dependent=True)] * count


def _chain(draw: Draw, root: int, noisy: bool) -> list[Row]:
    rows = [_first(_confirm(draw, 0, root), root)]
    first, second = draw.values
    for swap in draw.chance[: draw.sessions - 1]:
        value = rows[-1].target ^ swap
        table = f"{first} -> {draw.values[swap]}; {second} -> {draw.values[1 - swap]}"
        rows.append(Row(f"Previous {draw.axis} -> required {draw.axis}: {table}.", value, dependent=True))
    return rows


def _latent(draw: Draw, root: int, noisy: bool) -> list[Row]:
    rows = [_first(_confirm(draw, session, root), root) for session in range(draw.evidence)]
    later = "Use what you learned from my earlier choices for the {axis}."
    return rows + _later(draw, later, root, draw.sessions - draw.evidence)


def _recency(draw: Draw, root: int, noisy: bool) -> list[Row]:
    """Evidence, as many applications as ``evidence`` says, the override, applications."""
    later = "Use my current preference for the {axis}."
    before = min(draw.evidence, draw.sessions - 3)
    wish = f"from now on I want {draw.axis} "
    return [
        _first(f"Please note: {wish}{draw.values[root]}.", root),
        *_later(draw, later, root, before),
        _first(f"I changed my mind: {wish}{draw.values[1 - root]}.", 1 - root),
        *_later(draw, later, 1 - root, draw.sessions - 2 - before),
    ]


def _distractor(draw: Draw, root: int, noisy: bool) -> list[Row]:
    axis, other = draw.axis, draw.values[1 - root]
    records = [f"{draw.customer}, current: {axis} {draw.values[root]}"]
    if noisy:
        _, shift, stranger = draw.chance
        noise = [
            f"{draw.customer}, replaced: {axis} {other}",
            f"{STRANGERS[stranger]}, current: {axis} {other}",
            f"{draw.customer}, current: delivery in the evening",
        ]
        records = [*noise[:shift], *records, *noise[shift:]]
    listed = "\n".join(f"- {record}" for record in records)
    first = f"Customer records:\n{listed}\nBuy by this customer's current record for the {axis}."
    later = "Use this customer's current record for the {axis}."
    return [_first(first, root), *_later(draw, later, root, draw.sessions - 1)]


def _compositional(draw: Draw, root: int, noisy: bool) -> list[Row]:
    which, stated, swap = draw.chance
    pair, value = TOKENS[which], root ^ swap
    first = f"The customer's code is {pair[root]}; it is needed later. {_confirm(draw, 0, stated)}"
    table = f"{pair[0]} -> {draw.values[swap]}; {pair[1]} -> {draw.values[1 - swap]}"
    second = f"Directory of codes: {table}. Buy the {draw.axis} of the customer's code."
    later = "Buy the {axis} of the customer's code, by the directory that you saw."
    return [
        _first(first, stated),
        Row(second, value, dependent=True),
        *_later(draw, later, value, draw.sessions - 2),
    ]


def _negative(draw: Draw, root: int, noisy: bool) -> list[Row]:
    excluded = [draw.values[1 - root], draw.values[2]]
    names = " or ".join(excluded[::-1] if draw.chance[1] else excluded)
    later = "Keep to what I excluded for the {axis}."
    first = f"Never buy {draw.axis} {names} for me, now or later."
    return [_first(first, root), *_later(draw, later, root, draw.sessions - 1)]


def _clarification(draw: Draw, root: int, noisy: bool) -> list[Row]:
    first = f"Buy the {draw.axis} that I like best. I did not say which: ask me."
    reply = f"I like {draw.axis} {draw.values[root]} best; keep to it in later sessions, I will not repeat it."
    later = "Buy the {axis} that I told you when you asked."
    opening = Row(first, root, dependent=True, reply=reply)
    return [opening, *_later(draw, later, root, draw.sessions - 1)]


def _selective(draw: Draw, root: int, noisy: bool) -> list[Row]:
    """The last session always needs the profile; one early and one late session state a value against it or not."""
    omitted = f"No {draw.axis} is stated this time: use my standing preference."
    rows = [_first(f"My standing preference: {draw.axis} {draw.values[root]}.", root)]
    rows += [Row(omitted, root, dependent=True)] * (draw.sessions - 1)
    early, late, *stated = draw.chance
    for session, value in zip((1 + early, 3 + late), stated, strict=True):
        if session < draw.sessions - 1:
            text = f"This time I want {draw.axis} {draw.values[value]}; my standing preference stays as it is."
            rows[session] = Row(text, value)
    return rows


_WRITERS: Mapping[str, Callable[[Draw, int, bool], list[Row]]] = {
    "chain": _chain,
    "latent": _latent,
    "recency": _recency,
    "distractor": _distractor,
    "compositional": _compositional,
    "negative": _negative,
    "clarification": _clarification,
    "selective": _selective,
}
