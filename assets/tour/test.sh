#!/bin/sh
# Checks that slug.sh prints the expected file name of each title.

cd "$(dirname "$0")" || exit 1
failed=0

check() {
    got=$(sh slug.sh "$1")
    if [ "$got" = "$2" ]; then
        echo "ok    $1"
    else
        echo "FAIL  $1: got '$got', want '$2'"
        failed=1
    fi
}

check "Hello World" "hello-world"
check "Rust 2024" "rust-2024"
check "Wait... what?" "wait-what"
exit $failed
