#!/bin/sh
# Prints a title, the first argument, as a lower-case file name.

slug() {
    printf '%s' "$1" |
        tr '[:upper:]' '[:lower:]' |
        tr -c 'a-z0-9' '-' |
        sed 's/--/-/g; s/^-//; s/-$//'
}

slug "$1"
echo
