"""Prints three kinds of reports."""


def sales(rows):
    lines = ["SALES"]
    total = 0
    for name, amount in sorted(rows, key=lambda row: (-row[1], row[0])):
        if amount < 0:
            raise ValueError(f"negative amount of {name}")
        lines.append(f"{name:<10}{amount:>8.2f}")
        total += amount
    lines.append(f"{'total':<10}{total:>8.2f}")
    return "\n".join(lines)


def costs(rows):
    lines = ["COSTS"]
    total = 0
    for name, amount in sorted(rows, key=lambda row: (-row[1], row[0])):
        if amount < 0:
            raise ValueError(f"negative amount of {name}")
        lines.append(f"{name:<10}{amount:>8.2f}")
        total += amount
    lines.append(f"{'total':<10}{total:>8.2f}")
    return "\n".join(lines)


def hours(rows):
    lines = ["HOURS"]
    total = 0
    for name, amount in sorted(rows, key=lambda row: (-row[1], row[0])):
        if amount < 0:
            raise ValueError(f"negative amount of {name}")
        lines.append(f"{name:<10}{amount:>8.1f}")
        total += amount
    lines.append(f"{'total':<10}{total:>8.1f}")
    return "\n".join(lines)
