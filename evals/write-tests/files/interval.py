"""Half-open intervals of integers: `start` belongs to the interval, `end` does not."""


def contains(interval, value):
    start, end = interval
    return start <= value < end


def merge(intervals):
    """Joins intervals that overlap or touch. Returns them sorted by start; empty ones are dropped."""
    merged = []
    for start, end in sorted(intervals):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
