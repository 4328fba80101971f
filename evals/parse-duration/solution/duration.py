import re

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
PART = re.compile(r"([0-9]+)(\.[0-9]+)?([wdhms])")


def parse(text):
    """The seconds of a duration such as `1h30m`, `90s`, `2d` or `1w2d`.

    Units are w, d, h, m and s, each at most once, from the largest to the smallest. Only the last number may have a
    fraction, such as `1m1.5s`. A single `0` is valid. Spaces around the text are ignored, spaces within it are not valid.
    Letters may be upper case. Anything else raises ValueError.
    """
    rest = text.strip().lower()
    if rest == "0":
        return 0
    seconds, smallest, is_last = 0, None, False
    if not rest:
        raise ValueError("empty duration")
    while rest:
        part = PART.match(rest)
        if part is None or is_last:
            raise ValueError(f"invalid duration {text!r}")
        whole, fraction, unit = part.groups()
        if smallest is not None and UNITS[unit] >= smallest:
            raise ValueError(f"invalid order of units in {text!r}")
        smallest, is_last = UNITS[unit], fraction is not None
        number = float(whole + fraction) if fraction else int(whole)
        seconds += number * UNITS[unit]
        rest = rest[part.end():]
    return seconds
