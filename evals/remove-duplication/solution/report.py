"""Prints three kinds of reports."""


def table(title, rows, digits):
    lines = [title]
    total = 0
    for name, amount in sorted(rows, key=lambda row: (-row[1], row[0])):
        if amount < 0:
            raise ValueError(f"negative amount of {name}")
        lines.append(f"{name:<10}{amount:>8.{digits}f}")
        total += amount
    lines.append(f"{'total':<10}{total:>8.{digits}f}")
    return "\n".join(lines)


def sales(rows):
    return table("SALES", rows, 2)


def costs(rows):
    return table("COSTS", rows, 2)


def hours(rows):
    return table("HOURS", rows, 1)
