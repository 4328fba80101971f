from bisect import bisect_right


def pairs(numbers, total):
    """All (a, b) with a + b == total, where a comes before b in `numbers`: by the position of a, then of b."""
    positions = {}
    for position, number in enumerate(numbers):
        positions.setdefault(number, []).append(position)
    found = []
    for first, number in enumerate(numbers):
        others = positions.get(total - number, [])
        for second in others[bisect_right(others, first):]:
            found.append((number, numbers[second]))
    return found
