"""Counts the lines, words and bytes of a file."""

import sys


def count(data):
    return data.count(b"\n"), len(data.split()), len(data)


def main(arguments):
    if len(arguments) != 1:
        sys.exit("usage: wc.py FILE")
    with open(arguments[0], "rb") as file:
        lines, words, size = count(file.read())
    print(lines, words, size)


if __name__ == "__main__":
    main(sys.argv[1:])
