import random
import sys
sys.path.insert(0, ".")
from pairs import pairs


def slow(numbers, total):
    return [
        (a, b) for first, a in enumerate(numbers) for b in numbers[first + 1:] if a + b == total
    ]


source = random.Random(1)
if sys.argv[1] == "same":
    for _ in range(200):
        numbers = [source.randint(-5, 5) for _ in range(source.randint(0, 12))]
        assert pairs(numbers, 2) == slow(numbers, 2), numbers
    assert pairs([1, 1.0, 1], 2) == slow([1, 1.0, 1], 2)
else:
    numbers = [source.randint(0, 10**9) for _ in range(100_000)]
    numbers[10], numbers[90_000] = 7, 10**9 + 3
    assert (7, 10**9 + 3) in pairs(numbers, 10**9 + 10)
