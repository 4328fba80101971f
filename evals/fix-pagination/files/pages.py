"""Splits a list into pages."""


def page_count(items, size):
    return len(items) // size


def page(items, number, size):
    """The items of page `number`, counted from 1."""
    start = (number - 1) * size
    return items[start:start + size]
