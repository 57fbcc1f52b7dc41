"""Held-out evaluation: running it, and saying how sure one can be of the figures (paper C.1)."""
