#!/usr/bin/env python3
"""Writes release/start.txt: the functions that run at every start, which build.rs puts side by side.

    CARGO_PROFILE_RELEASE_STRIP=none cargo build --release
    scripts/start-order.py target/release/osier

Runs the program in a pseudo-terminal under valgrind, which has to be installed, with a home of its own and a model that
is never called, and leaves it after a while. Needs an x86-64 Linux. A list that is old costs memory after the start and
nothing else.
"""

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
            said = os.read(terminal, 1 << 16)
            for asked, answer in ANSWERS.items():
                if asked in said:
                    os.write(terminal, answer)
    os.write(terminal, b"\x04")
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:
        pass
    os.waitpid(pid, 0)


def functions(program, calls):
    own = set()
    for line in subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            own.add(words[2])
    assert own, "the program has no names: CARGO_PROFILE_RELEASE_STRIP=none"
    names = set()
    with open(calls, errors="replace") as report:
        for line in report:
            if line.startswith("fn="):
                name = re.sub(r"'\d+$", "", line[3:].strip())
                if name in own:
                    name = re.sub(r"17h[0-9a-f]{16}E", "17h*", name)
                    names.add(re.sub(r"\.llvm\.\d+$", "", name))
    return sorted(names)


program = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    run(program, folder)
    names = functions(program, f"{folder}/calls")
place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../release/start.txt")
with open(place, "w") as out:
    out.write("# Functions that run at every start, made by scripts/start-order.py; build.rs says what for.\n")
    out.write("".join(f"{name}\n" for name in names))
print(f"{len(names)} functions")
