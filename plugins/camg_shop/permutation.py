"""A seeded permutation of ``range(size)`` that needs no table: distinct indices give distinct combinations."""

from __future__ import annotations

import hashlib


class Permutation:
    """A bijection of ``range(size)``: a four-round Feistel network with cycle walking (Black and Rogaway, 2002).

    ``size`` may be far beyond what a list could hold.
    """

    def __init__(self, size: int, key: str) -> None:
        if size < 1:
            raise ValueError(f"Expected a size of at least 1, got {size}.")
        self.size = size
        self._key = key.encode()
        self._half = max(1, (max(1, (size - 1).bit_length()) + 1) // 2)
        self._mask = (1 << self._half) - 1
        self._bytes = (self._half + 7) // 8

    def _round(self, number: int, value: int) -> int:
        message = self._key + bytes((number,)) + value.to_bytes(self._bytes, "big")
        return int.from_bytes(hashlib.shake_128(message).digest(self._bytes), "big") & self._mask

    def __call__(self, index: int) -> int:
        """Raises ``IndexError`` outside ``range(size)``."""
        if not 0 <= index < self.size:
            raise IndexError(f"Expected an index below {self.size}, got {index}.")
        while True:
            left, right = index >> self._half, index & self._mask
            for number in range(4):
                left, right = right, left ^ self._round(number, right)
            index = left << self._half | right
            if index < self.size:
                return index


def digits(value: int, radices: tuple[int, ...]) -> tuple[int, ...]:
    """Mixed-radix digits of ``value``, least significant first; ``value`` below the product of the radices."""
    found = []
    for radix in radices:
        value, digit = divmod(value, radix)
        found.append(digit)
    return tuple(found)


def number(text: str, limit: int) -> int:
    """A stable number in ``range(limit)`` from ``text`` (sha256)."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big") % limit
