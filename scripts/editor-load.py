#!/usr/bin/env python3
"""Load test of the prompt editor: `@` in a tree of many files, and a paste of many lines. Needs only the standard library.

    cargo build --release && scripts/editor-load.py target/release/osier [FILES] [LINES]

Creates FILES empty files (200,000) and runs the program among them in a pseudo-terminal. Prints the key echo while the files
are listed, the time until the first file is offered, the time until a paste of LINES lines (20,000) is shown as a
placeholder, the key echo after it, and the memory. Run it on an idle machine.
"""

import fcntl
import os
import pty
import select
import shutil
import struct
import sys
import tempfile
import termios
import time

TIMEOUT = 60


class Program:
    def __init__(self, program, cwd, home):
        with open(f"{home}/settings.toml", "w") as settings:
            settings.write("discover_local_models = false\n")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ.update(OSIER_HOME=home, TERM="xterm-256color", COLORTERM="truecolor")
            os.execv(program, [program, "--model", "demo/tour"])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.shows(b"Ask")
        self.rest()

    def rest(self, quiet=1.0):
        """Read until there is no output for a while."""
        while select.select([self.fd], [], [], quiet)[0]:
            os.read(self.fd, 65536)

    def shows(self, text):
        """Return the milliseconds until the program writes `text`."""
        start, seen = time.monotonic(), b""
        while text not in seen:
            if not select.select([self.fd], [], [], TIMEOUT)[0]:
                sys.exit(f"`{text.decode()}` is not shown")
            seen += os.read(self.fd, 65536)
        return (time.monotonic() - start) * 1000

    def key(self, key, text=None):
        os.write(self.fd, key)
        return self.shows(text or key)

    def paste(self, text):
        """Return the milliseconds from the first byte until the placeholder is shown."""
        start, seen, left = time.monotonic(), b"", b"\x1b[200~" + text + b"\x1b[201~"
        while b"[paste" not in seen:
            ready, writable, _ = select.select([self.fd], [self.fd] if left else [], [], TIMEOUT)
            if ready:
                seen += os.read(self.fd, 65536)
            if writable:
                left = left[os.write(self.fd, left[:65536]) :]
        return (time.monotonic() - start) * 1000

    def memory(self):
        with open(f"/proc/{self.pid}/smaps_rollup") as rollup:
            fields = dict(line.split(":", 1) for line in rollup if ":" in line)
        return int(fields["Pss"].split()[0]) / 1024

    def end(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def tree(root, files):
    for folder in range(-(-files // 50)):
        path = f"{root}/module_{folder // 20:03}/part_{folder % 20:02}"
        os.makedirs(path)
        for file in range(min(50, files - folder * 50)):
            open(f"{path}/source_file_{file:02}.rs", "w").close()


def echoes(program, keys):
    times = []
    for key in keys:
        times.append(program.key(bytes([key])))
    return f"{sorted(times)[len(times) // 2]:.1f} ms median, {max(times):.1f} ms worst"


def main():
    program = os.path.abspath(sys.argv[1])
    files = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    lines = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000
    work, home = tempfile.mkdtemp(), tempfile.mkdtemp()
    try:
        tree(work, files)
        osier = Program(program, work, home)
        print(f"memory after start: {osier.memory():.1f} MB")
        print(f"echo of `@`: {osier.key(b'@'):.1f} ms")
        print(f"first of {files} files offered {osier.shows(b'module_'):.0f} ms later")
        print(f"keys while they are listed: {echoes(osier, b'so')}")
        osier.rest(3)
        print(f"memory with all of them: {osier.memory():.1f} MB")
        print(f"keys that search them: {echoes(osier, b'urce_file_42')}")
        osier.rest()
        osier.key(b"\x15", b"Ask")
        text = b"".join(b"line %d of a long paste\n" % line for line in range(lines))
        print(f"paste of {lines} lines: {osier.paste(text):.0f} ms until its placeholder is shown")
        osier.rest()
        print(f"keys after it: {echoes(osier, b'abcdefghij')}")
        print(f"memory: {osier.memory():.1f} MB")
        osier.end()
    finally:
        shutil.rmtree(work)
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
