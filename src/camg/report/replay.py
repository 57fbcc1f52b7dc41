"""One episode as text, turn by turn: what the policy saw, said, did and got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from camg.report.format import size
from camg.types import Episode, Event, Manifest, Turn, TurnKind
from camg.workspace.checkpoint import changed_paths

Piece = tuple[str, str]
"""A style and a text: ``title``, ``said``, ``seen``, ``good``, ``bad``, ``note``, ``plain``, ``added``, ``removed``."""


SHORT = 40
"""Characters up to which a fact about the episode is worth a place in its first line."""


def render(episode: Episode, advantages: Mapping[int, float] | None = None) -> Iterator[Piece]:
    """The lines of an episode. ``advantages``: turn index -> advantage, where they were recorded."""
    yield from _head(episode)
    replaced = {r.after_turn: r.kind for r in episode.replacements}
    segment = -1
    for turn in episode.turns:
        if turn.segment != segment:
            segment = turn.segment
            yield "title", ""
            yield (
                "title",
                f"context {segment + 1} of {len(episode.segments)}: {turn.prompt_length} tokens to begin with",
            )
        yield from (piece for event in episode.events if event.before_turn == turn.index for piece in _event(event))
        yield from _turn(turn, (advantages or {}).get(turn.index))
        if turn.index in replaced:
            yield "note", f"     the context is replaced ({replaced[turn.index].value} boundary)"
    yield from (piece for event in episode.events if event.before_turn >= len(episode.turns) for piece in _event(event))
    yield from _tail(episode)


def _head(episode: Episode) -> Iterator[Piece]:
    yield "title", f"episode {episode.id}: {episode.task}"
    about = [f"environment {episode.env}", f"split {episode.split}", f"seed {episode.seed}"]
    facts = {key: value for key, value in episode.meta.items() if isinstance(value, str | int | float)}
    about += [f"{key} {value}" for key, value in facts.items() if len(str(value)) <= SHORT and "\n" not in str(value)]
    yield "note", ", ".join(about)
    yield from (("seen", f"   | {line}") for line in _lines(str(facts.get("brief", ""))))


def _tail(episode: Episode) -> Iterator[Piece]:
    outcome = episode.outcome
    yield "title", ""
    solved = "wholly solved" if outcome.complete else "not wholly solved"
    style = "good" if outcome.complete else "bad"
    yield style, f"{solved}: success {outcome.success:.2f}, return {episode.reward:+.3f}, ended by {episode.end_reason}"
    if episode.fault:
        yield "bad", f"fault: {episode.fault}"
    tokens = sum(len(turn.token_ids) for turn in episode.turns)
    yield (
        "note",
        f"{len(episode.turns)} turns, {sum(turn.slots for turn in episode.turns)} slots, {tokens} tokens sampled, "
        f"{len(episode.replacements)} replacements, {episode.seconds:.2f} s",
    )
    if outcome.metrics:
        yield "note", ", ".join(f"{name} {value:g}" for name, value in outcome.metrics.items())
    if outcome.failure:
        yield "bad", f"why not: {_printable(outcome.failure)}"
    for name, text in outcome.details.items():
        if text:
            yield "title", f"{_printable(name)}:"
            yield from text_or_diff(text)


def text_or_diff(text: str) -> Iterator[Piece]:
    """The lines of a text; those of a unified diff in its colours."""
    lines = _lines(text)
    is_diff = any(line.startswith("@@ -") for line in lines)
    for line in lines:
        yield (_diff_style(line) if is_diff else "seen"), f"   {line}"


def _diff_style(line: str) -> str:
    if line.startswith(("diff --git", "--- ", "+++ ", "new file", "deleted file", "similarity", "rename ")):
        return "title"
    return {"+": "added", "-": "removed", "@": "note"}.get(line[:1], "plain")


def _turn(turn: Turn, advantage: float | None) -> Iterator[Piece]:
    kind = "" if turn.kind is TurnKind.RESPONSE else f", {turn.kind.value}"
    trained = "" if turn.trained else ", not trained"
    cut = ", cut at the limit" if turn.stop_reason.value == "length" else ""
    prompt = f"prompt {turn.prompt_length}, response {len(turn.token_ids)} tokens, weights {turn.policy_version}"
    yield "note", f"{turn.index:>3}  {prompt}{kind}{trained}{cut}"
    yield from (("said", f"   > {line}") for line in _lines(turn.text))
    if turn.action.fault:
        yield "bad", _printable(f"     no action: {turn.action.fault} ({turn.action.fault_detail})")
    if turn.kind is TurnKind.RESPONSE:
        yield from ((style, f"   < {line[3:]}") for style, line in text_or_diff(turn.observation.shown))
    yield from _consequences(turn, advantage)


def _consequences(turn: Turn, advantage: float | None) -> Iterator[Piece]:
    marks = []
    if turn.reward or turn.terminated:
        marks.append(f"reward {turn.reward:+.3f}")
    if advantage is not None:
        marks.append(f"advantage {advantage:+.3f}")
    if turn.invalid:
        marks.append("invalid")
    if turn.memory_access:
        marks.append("accesses the memory")
    if turn.terminated:
        marks.append("ends the episode")
    if marks:
        yield ("good" if turn.reward > 0 else "bad" if turn.reward < 0 else "plain"), "     " + ", ".join(marks)
    if turn.checkpoint is not None:
        verdict = turn.checkpoint
        reason = verdict.detail or (verdict.failure.value if verdict.failure else "")
        text = "checkpoint accepted" if verdict.accepted else f"checkpoint refused: {reason}"
        yield ("good" if verdict.accepted else "bad"), f"     {_printable(text)}"
    changes = memory_changes(turn.manifest_before, turn.manifest_after)
    if changes:
        yield "note", f"     memory: {_printable(', '.join(changes))}"


def memory_changes(before: Manifest, after: Manifest) -> list[str]:
    """``["+ notes.md (12 B)", "~ CONTINUATION.md (9 B -> 15 B)", "- old"]``, by path."""
    changes = []
    for path in sorted(changed_paths(before, after)):
        old, new = before.get(path), after.get(path)
        if old is None and new is not None:
            changes.append(f"+ {path} ({size(new.size) if new.kind == 'file' else new.kind})")
        elif new is None:
            changes.append(f"- {path}")
        elif old is not None:
            changes.append(f"~ {path} ({size(old.size)} -> {size(new.size)})")
    return changes


def _event(event: Event) -> Iterator[Piece]:
    cost = ", ".join(f"{name} {value:g}" for name, value in event.cost.items())
    yield "note", f"     event {event.kind}: {event.slots} slots" + (f", {cost}" if cost else "")
    yield from (("note", f"     | {line}") for line in _lines(event.text))


def _printable(text: str, but: str = "") -> str:
    """What a policy or a command wrote, names of files too, must not move the reader's cursor."""
    return "".join(c if c.isprintable() or c in but else repr(c)[1:-1] for c in text)


def _lines(text: str) -> Sequence[str]:
    clean = _printable(text.expandtabs(), "\n")
    return clean.rstrip("\n").split("\n") if clean.strip() else []
