#!/usr/bin/env python3
"""Write release/start.txt: the functions that run at every start, which build.rs places next to each other.

    CARGO_PROFILE_RELEASE_STRIP=none cargo build --release
    scripts/start-order.py target/release/osier            # run the program, write the list
    scripts/start-order.py --check target/release/osier    # report the names that are not in the program

Runs the program in a pseudo-terminal under valgrind, with a home directory of its own and a model that is never called,
and quits it after a while. Needs valgrind on x86-64 Linux. An old list costs memory after the start and nothing else.

A name is a pattern of the linker: `*` replaces what changes between builds, which is the hash of a function or crate.
"""

import argparse
import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

SECONDS = 25
ANSWERS = {b"\x1b[c": b"\x1b[?62;22c", b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\"}
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../release/start.txt")


def run(program, folder):
    home = f"{folder}/home"
    os.makedirs(home)
    model = {"id": "m", "contextWindow": 200000, "maxTokens": 8000}
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "x", "models": [model]}
    with open(f"{home}/models.json", "w") as models:
        json.dump({"providers": {"here": provider}}, models)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        environment = {**os.environ, "HOME": home, "OSIER_HOME": home, "TERM": "xterm-256color"}
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/calls", "--compress-strings=no",
                 "--demangle=no", program, "--model", "here/m"]
        os.execvpe(words[0], words, environment)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            output = os.read(terminal, 1 << 16)
            for query, answer in ANSWERS.items():
                if query in output:
                    os.write(terminal, answer)
    os.write(terminal, b"\x04")
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:
        pass
    os.waitpid(pid, 0)


def symbols(program):
    """The names of all functions of the program."""
    names = set()
    for line in subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            names.add(words[2])
    if not names:
        sys.exit(f"`{program}` has no symbols; build it with `CARGO_PROFILE_RELEASE_STRIP=none`")
    return names


def pattern(name):
    """The pattern for a name: without the hashes of its function and crates, and without the suffixes of LLVM."""
    name = re.sub(r"(\.llvm)?\.\d+$", "", name)
    if name.startswith("_R"):
        return re.sub(r"(?<=Cs)[0-9A-Za-z]+_(?=\d)", "*_", name) + "*"
    return re.sub(r"17h[0-9a-f]{16}E$", "17h*", name)


def patterns(program, calls):
    own = symbols(program)
    found = set()
    with open(calls, errors="replace") as report:
        for line in report:
            if line.startswith("fn="):
                name = re.sub(r"'\d+$", "", line[3:].strip())
                if name in own:
                    found.add(pattern(name))
    return sorted(found)


def check(program):
    own = {pattern(name) for name in symbols(program)}
    with open(LIST) as lines:
        listed = [line.strip() for line in lines if not line.startswith("#")]
    missing = [name for name in listed if name not in own]
    print("".join(f"{name}\n" for name in missing), end="")
    print(f"{len(listed) - len(missing)} of {len(listed)} names are in the program", file=sys.stderr)
    sys.exit(1 if len(missing) * 4 > len(listed) else 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("program")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    if options.check:
        check(program)
    with tempfile.TemporaryDirectory() as folder:
        run(program, folder)
        names = patterns(program, f"{folder}/calls")
    with open(LIST, "w") as out:
        out.write("# Functions that run at every start. Written by scripts/start-order.py, read by build.rs.\n")
        out.write("".join(f"{name}\n" for name in names))
    print(f"{len(names)} functions")


main()
