"""Counts the lines, words and bytes of a file."""

import json
import sys


def count(data):
    return data.count(b"\n"), len(data.split()), len(data)


def main(arguments):
    as_json = "--json" in arguments
    names = [argument for argument in arguments if argument != "--json"]
    if len(names) != 1:
        sys.exit("usage: wc.py [--json] FILE")
    with open(names[0], "rb") as file:
        lines, words, size = count(file.read())
    if as_json:
        print(json.dumps({"lines": lines, "words": words, "bytes": size}))
    else:
        print(lines, words, size)


if __name__ == "__main__":
    main(sys.argv[1:])
