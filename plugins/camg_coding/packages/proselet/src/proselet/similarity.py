"""How alike two texts are."""


def distance(first, second, transpose=False):
    """The least number of insertions, deletions and replacements of one character that turn one into the other.

    ``transpose``: exchanging two neighbours counts as one step as well (optimal string alignment).
    """
    before, previous = [], list(range(len(second) + 1))
    for row, left in enumerate(first, start=1):
        current = [row]
        for column, right in enumerate(second, start=1):
            cost = 0 if left == right else 1
            best = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + cost)
            if transpose and row > 1 and column > 1 and left == second[column - 2] and first[row - 2] == right:
                best = min(best, before[column - 2] + 1)
            current.append(best)
        before, previous = previous, current
    return previous[-1]


def longest_common(first, second):
    """The longest run of characters that both contain, the first such run of ``first``."""
    best = ""
    lengths = [0] * (len(second) + 1)
    for row, left in enumerate(first):
        updated = [0]
        for column, right in enumerate(second):
            length = lengths[column] + 1 if left == right else 0
            updated.append(length)
            if length > len(best):
                best = first[row - length + 1 : row + 1]
        lengths = updated
    return best


def jaro(first, second):
    """Jaro's similarity, from 0.0 (nothing in common) to 1.0 (equal)."""
    if first == second:
        return 1.0
    reach = max(0, max(len(first), len(second)) // 2 - 1)
    taken = [False] * len(second)
    matched = []
    for index, character in enumerate(first):
        for other in range(max(0, index - reach), min(len(second), index + reach + 1)):
            if not taken[other] and second[other] == character:
                taken[other] = True
                matched.append(character)
                break
    if not matched:
        return 0.0
    opposite = [character for character, used in zip(second, taken) if used]
    moved = sum(left != right for left, right in zip(matched, opposite)) // 2
    count = len(matched)
    return (count / len(first) + count / len(second) + (count - moved) / count) / 3


def jaro_winkler(first, second, weight=0.1):
    """Jaro's similarity, raised by ``weight`` for each of the first (at most four) characters that agree."""
    similarity = jaro(first, second)
    common = 0
    for left, right in zip(first[:4], second[:4]):
        if left != right:
            break
        common += 1
    return similarity + common * weight * (1 - similarity)


def overlap(first, second, size=2):
    """Dice's coefficient of the sets of ``size`` neighbours: 1.0 for equal texts, 0.0 if one is too short."""
    if first == second:
        return 1.0
    left = {first[index : index + size] for index in range(len(first) - size + 1)}
    right = {second[index : index + size] for index in range(len(second) - size + 1)}
    if not left or not right:
        return 0.0
    return 2 * len(left & right) / (len(left) + len(right))


def closest(word, candidates, count=3, least=0.7):
    """At most ``count`` candidates whose Jaro-Winkler similarity is at least ``least``; best first, equals by name."""
    scored = []
    for candidate in candidates:
        similarity = jaro_winkler(word, candidate)
        if similarity >= least:
            scored.append((-similarity, candidate))
    return [candidate for _, candidate in sorted(scored)[:count]]
