import sys
sys.path.insert(0, ".")
from duration import parse

if sys.argv[1] == "valid":
    cases = {"90s": 90, "1h30m": 5400, "2d": 172800, "1w2d": 777600, "0": 0, " 5m ": 300, "1m1.5s": 61.5, "1H": 3600, "0s": 0, "1.5h": 5400}
    for text, seconds in cases.items():
        assert parse(text) == seconds, text
else:
    for text in ("", " ", "5", "1.5", "m", "1h 30m", "30m1h", "1m1m", "1.5m1s", "-1s", "1x", "1.s", ".5s", "1e3s", "\u0661s", "1h30"):
        try:
            value = parse(text)
        except ValueError:
            continue
        raise AssertionError(f"{text!r} is {value}")
