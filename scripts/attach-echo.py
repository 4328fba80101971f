#!/usr/bin/env python3
"""`osier attach` over a long line: what typing, reading and asking cost, and what a cut line loses. Python's own library
only.

    cargo build --profile dist && scripts/attach-echo.py target/dist/osier [MILLISECONDS]

Starts `osier serve` with a model that is a script, a relay before it that holds every byte for MILLISECONDS (200) each
way, and the interface in a pseudo-terminal behind that. Prints how long keys take to be echoed, at rest and while an
answer streams, how long a page up and the palette take, how long a prompt waits for its answer; then the line is cut in
the middle of an answer and comes back: when that is told, when the interface has caught up, and whether anything of the
answer or of a prompt sent meanwhile is lost or there twice. Run it on a machine that does nothing else.
"""

import asyncio
import collections
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
import threading
import time

PATIENCE = 60
ROWS, WORDS, PAUSE, AWAY = 300, 400, 20, 3.0
# Letters that no answer and no control sequence of a frame has: a frame has only the cells that changed.
KEYS = b"zqvyzqvy"
ANSWERS = ["BACON", "JUMPS", "FIGHT", "WORLD"]


class Relay:
    """A line to `port` of this machine whose bytes take a while, and which can be cut."""

    def __init__(self, port, delay):
        self.port, self.delay, self.whole, self.lines = port, delay, True, set()
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self.connected, "127.0.0.1", 0, limit=1 << 20)
        )
        self.here = self.server.sockets[0].getsockname()[1]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def connected(self, reader, writer):
        # A handshake crosses the line once before anything is said.
        await asyncio.sleep(2 * self.delay)
        if not self.whole:
            return writer.transport.abort()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        self.lines |= {writer, far_writer}
        await asyncio.gather(self.carry(reader, far_writer), self.carry(far_reader, writer))
        self.lines -= {writer, far_writer}

    async def carry(self, reader, writer):
        waiting, more = collections.deque(), asyncio.Event()

        async def deliver():
            while True:
                while not waiting:
                    more.clear()
                    await more.wait()
                due, data = waiting.popleft()
                await asyncio.sleep(max(0, due - time.monotonic()))
                if not data or writer.transport.is_closing():
                    return writer.close()
                writer.write(data)

        delivering = asyncio.ensure_future(deliver())
        data = b"."
        while data:
            try:
                data = await reader.read(65536)
            except OSError:
                data = b""
            waiting.append((time.monotonic() + self.delay, data))
            more.set()
        await delivering

    def cut(self):
        def now():
            self.whole = False
            for line in self.lines:
                line.transport.abort()
            self.lines.clear()

        self.loop.call_soon_threadsafe(now)

    def mend(self):
        self.whole = True


class Screen:
    """The interface in a pseudo-terminal."""

    def __init__(self, words, cwd, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ.update(OSIER_HOME=home, TERM="xterm-256color", COLORTERM="truecolor")
            os.execv(words[0], words)
        self.size(40, 120)

    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def rest(self, quiet=1.0):
        """What comes until nothing comes for a while."""
        seen = b""
        while select.select([self.fd], [], [], quiet)[0]:
            seen += os.read(self.fd, 65536)
        return seen

    def shows(self, pattern, begun=None):
        """Milliseconds until the terminal is sent what matches `pattern`, and what that was."""
        start, seen = begun or time.monotonic(), b""
        pattern = re.compile(pattern)
        while not (found := pattern.search(seen)):
            if not select.select([self.fd], [], [], PATIENCE)[0]:
                sys.exit(f"`{pattern.pattern.decode()}` does not show; the last was {seen[-600:]!r}")
            seen += os.read(self.fd, 65536)
        return (time.monotonic() - start) * 1000, found.group()

    def write(self, keys):
        os.write(self.fd, keys)

    def key(self, key, pattern=None):
        self.write(key)
        return self.shows(pattern or re.escape(key))[0]

    def echo(self, rounds):
        """How long each of some keys takes; they are deleted again."""
        times = []
        for _ in range(rounds):
            for key in KEYS:
                times.append(self.key(bytes([key])))
                time.sleep(0.03)
            self.write(b"\x15")
            time.sleep(0.1)
        return times

    def repainted(self, rows):
        """Everything on a screen of so many rows."""
        self.rest()
        self.size(rows, 121)
        painted = self.rest()
        return re.sub(rb"\x1b\[[0-9;:?<>=]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", b" ", painted)


def told(name, times):
    print(f"{name}: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms ({len(times)})")


def script():
    rows = "".join(f"- row {row}\n" for row in range(1, ROWS + 1)) + "- XXXXX"
    words = "".join(f"w{word:04} " for word in range(1, WORDS + 1))
    numbered = [{"text": words, "chunk": 6, "delayMs": PAUSE}]
    turns = [
        {"when": {"user": "rows"}, "steps": [{"text": rows}]},
        {"when": {"user": "number"}, "steps": numbered},
        {"when": {"user": "meanwhile"}, "steps": [{"text": "QUICKLY"}]},
    ] + [{"when": {"user": word.lower()}, "steps": [{"text": word}]} for word in ANSWERS]
    return {"turns": [{"repeat": True, **turn} for turn in turns]}


def measure(screen, relay, delay):
    took, _ = screen.shows(rb"on 127\.0\.0\.1")
    print(f"joined: {took:.0f} ms after the start")
    screen.rest()
    told("key echo, at rest", screen.echo(8))
    screen.rest(0.3)
    screen.write(b"rows\r")
    screen.shows(b"XXXXX")
    screen.rest()
    pages = []
    for _ in range(6):
        # A frame scrolls what stays and writes the rows that are new: its end is what is waited for.
        pages.append(screen.key(b"\x1b[5~", rb"\d[^\x00]*\x1b\[\?2026l"))
        screen.rest(0.3)
    told("page up", pages)
    palette = []
    for _ in range(6):
        palette.append(screen.key(b"\x1bx", b"Actions"))
        screen.rest(0.3)
        screen.write(b"\x1b")
        screen.rest(0.3)
    told("palette", palette)
    asked = []
    for word in ANSWERS:
        screen.write(word.lower().encode())
        screen.rest(0.3)
        asked.append(screen.key(b"\r", word.encode()))
        screen.rest()
    told(f"a prompt until its answer (the line alone: {2000 * delay:.0f})", asked)
    screen.write(b"number\r")
    screen.shows(rb"w0005")
    told("key echo, while an answer streams", screen.echo(6))
    reconnect(screen, relay)


def reconnect(screen, relay):
    relay.cut()
    cut = time.monotonic()
    print("the line is cut")
    at = lambda: f"  {(time.monotonic() - cut) * 1000:6.0f} ms  "
    screen.shows(b"no line")
    print(at() + "the footer says so")
    times = screen.echo(3)
    screen.write(b"meanwhile\r")
    told(at() + "keys are echoed", times)
    time.sleep(max(0, cut + AWAY - time.monotonic()))
    relay.mend()
    back = time.monotonic()
    print(at() + "the line is whole again, the prompt typed meanwhile waits")
    screen.shows(rb"on 127\.0\.0\.1")
    print(at() + f"joined again, {(time.monotonic() - back) * 1000:.0f} ms after that")
    screen.shows(rb"w\d{4}")
    print(at() + f"what was missed shows, {(time.monotonic() - back) * 1000:.0f} ms after that")
    screen.shows(rb"QUICKLY")
    print(at() + "the prompt is answered")
    # All of what follows the rows is in sight.
    painted = screen.repainted(120)
    words = collections.Counter(re.findall(rb"w\d{4}", painted))
    lost = [word for word in range(1, WORDS + 1) if not words[b"w%04d" % word]]
    twice = [word.decode() for word, count in words.items() if count > 1]
    prompts, answers = painted.count(b"meanwhile"), painted.count(b"QUICKLY")
    print(f"of {WORDS} words lost {len(lost)}, twice {len(twice)}; the prompt is there {prompts} times, answered {answers} times")
    if lost or twice or (prompts, answers) != (1, 1):
        sys.exit(f"lost: {lost}, twice: {twice}")


def main():
    program = os.path.abspath(sys.argv[1])
    delay = (float(sys.argv[2]) if len(sys.argv) > 2 else 200) / 1000
    place = tempfile.mkdtemp()
    home, work = f"{place}/home", f"{place}/work"
    there = f"{place}/there"
    for folder in (home, work, there):
        os.mkdir(folder)
    with open(f"{work}/model.json", "w") as file:
        json.dump(script(), file)
    for folder in (home, there):
        with open(f"{folder}/settings.toml", "w") as settings:
            settings.write("discover_local_models = false\n")
    server = subprocess.Popen(
        [program, "serve", "--listen", "127.0.0.1:0", "--model", "script/model.json"],
        cwd=work, env={**os.environ, "OSIER_HOME": there}, stdout=subprocess.PIPE, text=True,
    )
    screen = None
    try:
        address, token = server.stdout.readline().strip()[len("http://"):].split("/#token=")
        relay = Relay(int(address.rpartition(":")[2]), delay)
        print(f"{delay * 1000:.0f} ms each way")
        where = f"http://127.0.0.1:{relay.here}/#token={token}"
        screen = Screen([program, "attach", where], work, home)
        measure(screen, relay, delay)
        screen.write(b"\x04")
    finally:
        if screen:
            os.close(screen.fd)
            os.waitpid(screen.pid, 0)
        server.terminate()
        server.wait()
        shutil.rmtree(place, ignore_errors=True)


main()
