def parse(text):
    """The seconds of a duration such as `1h30m`, `90s`, `2d` or `1w2d`.

    Units are w, d, h, m and s, each at most once, from the largest to the smallest. Only the last number may have a
    fraction, such as `1m1.5s`. A single `0` is valid. Spaces around the text are ignored, spaces within it are not valid.
    Letters may be upper case. Anything else raises ValueError.
    """
    raise NotImplementedError
