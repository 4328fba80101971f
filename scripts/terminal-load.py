#!/usr/bin/env python3
"""Measure terminals inside of osier: the CPU of a flood and the time of a key echo. Needs only the standard library.

    cargo build --release && scripts/terminal-load.py target/release/osier [MEGABYTES]

Prints a file of MEGABYTES (100) in a terminal of the model, with the tool `bash` and in a terminal of the interface, and
reports user and system time of osier and of the program that prints. Two floors are reported with them: the same program
on a pipe and on a terminal that is only read. Then it types 200 keys into `cat`, once in a terminal of the interface and
once in a plain terminal, and reports the milliseconds until each is shown. Run it on an idle machine.
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

KEYS = 200
# Letters that occur in no control sequence. A frame contains only the changed cells.
LETTERS = b"zqvy"
TIMEOUT = 120


def environment(home):
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL")}
    return kept | {"HOME": home, "OSIER_HOME": home + "/osier", "TERM": "xterm-256color", "COLORTERM": "truecolor"}


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, words, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe(words[0], words, environment(home))
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.answered = b""

    def read(self, seconds):
        """The output within this time, without waiting for more; answers queries as a terminal does."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            output = os.read(self.fd, 1 << 20)
        except OSError:
            return b""
        for query, answer in ((b"\x1b[c", b"\x1b[?62;22c"), (b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[?u", b"\x1b[?0u")):
            if query in output:
                os.write(self.fd, answer)
        for mode in re.findall(rb"\x1b\[\?(\d+)\$p", output):
            os.write(self.fd, b"\x1b[?" + mode + b";2$y")
        return output

    def rest(self, quiet=0.5):
        """Read until there is nothing for a while."""
        seen = b""
        while output := self.read(quiet):
            seen += output
        return seen

    def until(self, part):
        """Read until `part` was printed."""
        seen, end = b"", time.monotonic() + TIMEOUT
        while part not in seen:
            if time.monotonic() > end:
                sys.exit(f"`{part.decode()}` was not shown; the last output was {seen[-300:]!r}")
            seen += self.read(1)

    def key(self, letter):
        """The milliseconds until the output contains `letter`."""
        begun = time.perf_counter()
        os.write(self.fd, letter)
        end = begun + TIMEOUT
        while letter not in self.read(1):
            if time.perf_counter() > end:
                sys.exit("a key was not shown")
        return (time.perf_counter() - begun) * 1000

    def close(self):
        """End the program; return the CPU seconds of it and its children."""
        os.kill(self.pid, 15)
        while self.read(0.2):
            pass
        _, _, usage = os.wait4(self.pid, 0)
        os.close(self.fd)
        return usage.ru_utime + usage.ru_stime


def own_time(pid):
    """CPU seconds of a process without its children."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def used(words, home):
    """CPU seconds of a command with its children."""
    process = subprocess.Popen(words, cwd=home, env=environment(home), stdout=subprocess.PIPE)
    while os.read(process.stdout.fileno(), 1 << 16):
        pass
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{words[0]} failed")
    return usage.ru_utime + usage.ru_stime


def scripted(osier, home, *calls):
    """CPU seconds of a run whose model makes these calls."""
    turns = [{"steps": [{"tool": tool, "arguments": arguments}]} for tool, arguments in calls]
    with open(home + "/script.json", "w") as script:
        json.dump({"turns": turns + [{"steps": [{"text": "done"}]}]}, script)
    return used([osier, "--model", "script/script.json", "--permissions", "yolo", "-p", "go"], home)


def flood(osier, home):
    cat = ["cat", home + "/flood.txt"]
    begun = os.times()
    reader = Terminal(cat, home)
    while reader.read(TIMEOUT):
        pass
    _, _, usage = os.wait4(reader.pid, 0)
    ended = os.times()
    printing, reading = usage.ru_utime + usage.ru_stime, ended.user + ended.system - begun.user - begun.system
    print(f"{used(cat, home):8.2f} s  the program on a pipe")
    print(f"{printing:8.2f} s  the program on a terminal, and {reading:.2f} s to read it")
    print(f"{scripted(osier, home, ('bash', {'command': ' '.join(cat), 'timeout': 600})):8.2f} s  tool `bash`")
    wait = {"id": "term1", "wait": "exit", "timeout": 600}
    calls = ("bash", {"command": " ".join(cat), "terminal": True}), ("terminal", wait)
    print(f"{scripted(osier, home, *calls):8.2f} s  terminal of the model")
    screen = interface(osier, home)
    before = own_time(screen.pid)
    command = "/terminal " + " ".join(cat) + "; echo THE''END"
    os.write(screen.fd, command.encode() + b"\r")
    screen.until(b"THEEND")
    screen.rest()
    own = own_time(screen.pid) - before
    print(f"{screen.close():8.2f} s  terminal of the interface, {own:.2f} s of it in osier")


def interface(osier, home):
    with open(home + "/script.json", "w") as script:
        json.dump({"turns": [{"repeat": True, "steps": [{"text": "done"}]}]}, script)
    screen = Terminal([osier, "--model", "script/script.json", "--permissions", "yolo"], home)
    screen.rest()
    return screen


def report(name, echoes):
    echoes.sort()
    print(f"{statistics.median(echoes):8.2f} ms median, {echoes[len(echoes) * 95 // 100]:.2f} ms p95  {name}")


def echo(osier, home):
    screen = interface(osier, home)
    os.write(screen.fd, b"/terminal cat\r")
    screen.rest()
    plain = Terminal(["cat"], home)
    for pause in (0.1, 0.02):
        for name, terminal in (("plain terminal", plain), ("terminal of the interface", screen)):
            echoes = []
            for number in range(KEYS):
                if number % 40 == 0:
                    # The kill character removes the line.
                    os.write(terminal.fd, b"\x15")
                    terminal.rest()
                echoes.append(terminal.key(LETTERS[number % 4 : number % 4 + 1]))
                time.sleep(pause)
            report(f"{name}, a key every {pause * 1000:.0f} ms", echoes)
    screen.close()
    plain.close()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    osier, megabytes = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 100
    home = tempfile.mkdtemp(prefix="osier-terminal-load-")
    try:
        with open(home + "/flood.txt", "w") as lines:
            size = 0
            while size < megabytes * 1_000_000:
                size += lines.write(f"line at byte {size} of a flood, of {size % 23} words or so\n" * 100)
        flood(osier, home)
        echo(osier, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


main()
