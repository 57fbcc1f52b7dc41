"""What an engine decodes with: a key-value cache for each speaker, prefill of new suffixes, batched decoding steps.

``StaticBackend`` serves small plain decoders from one preallocated cache; :mod:`camg_policies.general` any causal model
through transformers' own forward pass and cache classes. A backend is used by one thread, the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol

import torch
from attrs import define, field
from torch import Tensor

from camg_policies.models import Actor
from camg_policies.plain import PlainDecoder


@define(eq=False)
class Track:
    """One speaker's cached context. ``ids`` are the token ids whose keys and values (or states) are held."""

    ids: list[int] = field(factory=list)
    prompt: list[int] = field(factory=list)  # what the next prefill shall reach
    slot: int = -1
    cache: Any = None


def shared_length(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the longest common prefix, id by id."""
    if list(left) == list(right[: len(left)]):  # the usual case, at C speed
        return min(len(left), len(right))
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


class Backend(Protocol):
    """Logits for the engine, and the cache behind them."""

    def prefill(self, tracks: Sequence[Track]) -> Tensor:
        """Bring each track's cache to its prompt; logits ``[n, V]`` after the last prompt token."""

    def decode(self, tracks: Sequence[Track], tokens: Sequence[int]) -> Tensor:
        """Append one token to each track; logits ``[n, V]`` after it."""

    def release(self, track: Track) -> None:
        """The speaker has closed."""

    def load(self, state: Mapping[str, Tensor]) -> None:
        """New weights (a state dict of the actor). Every cache is void."""


class StaticBackend:
    """One slot of a preallocated cache for each open speaker; decodes over a contiguous range of slots.

    A slot keeps its content after its speaker closes, and a fresh context first takes over the longest prefix that a
    recent context holds: the system prompt is prefilled once, not once an episode.
    """

    _donors = 4  # recent contexts that are asked for a shared prefix
    _worthwhile = 12  # positions that make copying a prefix cheaper than prefilling it
    _padded = 4096  # tokens of one prefill pass, padding included

    def __init__(self, actor: Actor, slots: int = 16) -> None:
        self._actor = actor
        self._decoder = PlainDecoder(actor, slots)
        self._held: list[list[int]] = [[] for _ in range(slots)]
        self._free = list(range(slots))[::-1]
        self._recent: list[int] = []
        self.cached_tokens = 0
        self.prefilled_tokens = 0

    def load(self, state: Mapping[str, Tensor]) -> None:
        """See :class:`Backend`."""
        self._actor.load_state_dict(dict(state))
        self._decoder.load(self._actor)
        for held in self._held:
            held.clear()
        self._recent.clear()

    def release(self, track: Track) -> None:
        """See :class:`Backend`."""
        if track.slot >= 0:
            self._free.append(track.slot)
            self._free.sort(reverse=True)
            track.slot = -1
            track.ids = []

    def _seat(self, track: Track) -> None:
        if track.slot >= 0:
            return
        if not self._free:
            count = len(self._held)
            self._decoder.reserve(2 * count, 0)
            self._held += [[] for _ in range(count)]
            self._free = list(range(count, 2 * count))[::-1]
        track.slot = self._free.pop()
        track.ids = self._held[track.slot]

    def _reuse(self, track: Track) -> None:
        """Cut the slot back to what it shares with the prompt, or take a longer shared prefix from another slot."""
        own = shared_length(track.ids, track.prompt)
        if own < min(len(track.ids), len(track.prompt)) or own < self._worthwhile:
            best, donor = own, -1
            for slot in self._recent:
                length = shared_length(self._held[slot], track.prompt) if slot != track.slot else 0
                best, donor = (length, slot) if length >= best + self._worthwhile else (best, donor)
            if donor >= 0:
                best = min(best, len(track.prompt) - 1)
                self._decoder.copy_prefix(donor, track.slot, best)
                track.ids[:] = track.prompt[:best]
                own = best
            others = [slot for slot in self._recent if slot != track.slot]
            self._recent = [*others[1 - self._donors :], track.slot]
        del track.ids[min(own, len(track.prompt) - 1) :]  # the last token is always computed: its logits are asked for

    def prefill(self, tracks: Sequence[Track]) -> Tensor:
        """See :class:`Backend`."""
        for track in tracks:
            self._seat(track)
        # after new weights the first context goes alone, so that the others find its prefix in the cache
        logits: dict[int, Tensor] = {}
        if len(tracks) > 1 and not self._recent:
            self._reuse(tracks[0])
            logits[tracks[0].slot] = self._pass(tracks[:1])[0]
        rest = [track for track in tracks if track.slot not in logits]
        for track in rest:
            self._reuse(track)
        rest.sort(key=lambda track: len(track.prompt) - len(track.ids))
        while rest:
            count = 1
            while count < len(rest) and self._worth_joining(rest, count):
                count += 1
            for track, row in zip(rest[:count], self._pass(rest[:count]), strict=True):
                logits[track.slot] = row
            rest = rest[count:]
        return torch.stack([logits[track.slot] for track in tracks])

    def _worth_joining(self, tracks: Sequence[Track], count: int) -> bool:
        """Is the next longer suffix short enough that padding ``count`` others to it costs less than another pass?"""
        longest, shortest = (len(track.prompt) - len(track.ids) for track in (tracks[count], tracks[0]))
        return longest * (count + 1) <= self._padded and (longest - shortest) * count <= 96

    def _pass(self, tracks: Sequence[Track]) -> Tensor:
        suffixes = [track.prompt[len(track.ids) :] for track in tracks]
        width = max(map(len, suffixes))
        starts = [len(track.ids) for track in tracks]
        self._decoder.reserve(0, max(starts) + width)
        tokens = torch.tensor([suffix + [0] * (width - len(suffix)) for suffix in suffixes])
        logits = self._decoder.step(
            tokens,
            torch.tensor([track.slot for track in tracks]),
            torch.tensor(starts),
            torch.tensor([len(suffix) - 1 for suffix in suffixes]),
        )
        self.cached_tokens += sum(starts)
        for track, suffix in zip(tracks, suffixes, strict=True):
            track.ids += suffix
            self.prefilled_tokens += len(suffix)
        return logits

    def decode(self, tracks: Sequence[Track], tokens: Sequence[int]) -> Tensor:
        """See :class:`Backend`."""
        reach = max(track.slot for track in tracks) + 1
        starts = [len(track.ids) for track in tracks]
        self._decoder.reserve(0, max(len(held) for held in self._held) + 1)
        if 2 * len(tracks) < reach:
            slots = torch.tensor([track.slot for track in tracks])
            logits = self._decoder.step(torch.tensor(tokens)[:, None], slots, torch.tensor(starts), None)
        else:  # idle slots run along: cheaper than gathering the cache; they only overwrite what is behind their end
            row, at = [0] * reach, [len(held) for held in self._held[:reach]]
            for track, token in zip(tracks, tokens, strict=True):
                row[track.slot] = token
            full = self._decoder.step(torch.tensor(row)[:, None], None, torch.tensor(at), None)
            logits = full[torch.tensor([track.slot for track in tracks])]
        for track, token in zip(tracks, tokens, strict=True):
            track.ids.append(token)
        return logits
