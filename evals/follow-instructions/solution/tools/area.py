# SPDX-License-Identifier: MIT


def area(width: float, height: float) -> float:
    if width < 0 or height < 0:
        raise ValueError("a side is negative")
    return width * height
