def pairs(numbers, total):
    """All (a, b) with a + b == total, where a comes before b in `numbers`: by the position of a, then of b."""
    found = []
    for first in range(len(numbers)):
        for second in range(first + 1, len(numbers)):
            if numbers[first] + numbers[second] == total:
                found.append((numbers[first], numbers[second]))
    return found
