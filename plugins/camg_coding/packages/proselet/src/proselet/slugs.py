"""Names for links, files and variables."""

import unicodedata

SPECIAL = {"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d"}


def plain(text):
    """Lower case without accents; ``ß æ ø œ ł đ`` are spelled out, other letters beyond ASCII are left away."""
    pieces = []
    for character in unicodedata.normalize("NFKD", text.lower()):
        character = SPECIAL.get(character, character)
        if character.isascii():
            pieces.append(character)
    return "".join(pieces)


def words(text):
    """The words of a title or an identifier, in lower case.

    A word ends at anything but letters and digits, before a capital that follows a small letter or a digit, and before
    the last of several capitals when a small letter follows (``HTTPServer`` is ``http``, ``server``).
    """
    found, word = [], ""
    for index, character in enumerate(text):
        if not character.isalnum():
            found.append(word)
            word = ""
            continue
        before = text[index - 1] if index > 0 else ""
        after = text[index + 1 : index + 2]
        if character.isupper() and word and (not before.isupper() or after.islower()):
            found.append(word)
            word = ""
        word += character
    found.append(word)
    return [word.lower() for word in found if word]


def slugify(text, separator="-", limit=None):
    """A slug of ASCII letters, digits and ``separator``; at most ``limit`` long, cut between words if possible."""
    pieces, piece = [], ""
    for character in plain(text):
        if character.isalnum():
            piece += character
        elif character != "'" and piece:
            pieces.append(piece)
            piece = ""
    if piece:
        pieces.append(piece)
    slug = separator.join(pieces)
    if limit is None or len(slug) <= limit:
        return slug
    while len(pieces) > 1 and len(separator.join(pieces)) > limit:
        pieces.pop()
    return separator.join(pieces)[:limit]


def unique_slug(text, taken, separator="-"):
    """A slug that is not in ``taken``: the plain one, else with ``-2``, ``-3`` … behind it."""
    slug = slugify(text, separator) or "untitled"
    number = 1
    candidate = slug
    while candidate in taken:
        number += 1
        candidate = f"{slug}{separator}{number}"
    return candidate


def snake_case(text):
    """``HTTPServer error`` to ``http_server_error``."""
    return "_".join(words(text))


def camel_case(text, upper=False):
    """``http_server error`` to ``httpServerError``; ``upper``: the first word begins with a capital as well."""
    parts = [word.capitalize() for word in words(text)]
    if parts and not upper:
        parts[0] = parts[0].lower()
    return "".join(parts)
