#!/usr/bin/env python3
"""Measure `osier attach` over a slow connection, and check what a broken connection loses. Needs only the standard library.

    cargo build --release && scripts/attach-echo.py target/release/osier [MILLISECONDS [KBIT]]

Starts `osier serve` with a scripted model, a TCP proxy that delays every byte by MILLISECONDS (200) each way and passes on
at most KBIT kilobits in a second, and the interface in a pseudo-terminal. Prints the key echo at rest and while an answer
streams, the time of a page up, of the command palette, of an answer and of `esc` during an answer of 1,000 tokens, and the
bytes of such an answer and of joining its session. Then it breaks the connection in the middle of an answer and restores it. It prints when
the interface reports this and when it has caught up, and checks that no part of an answer or of a prompt sent meanwhile is
lost or duplicated. Run it on an idle machine.
"""

import asyncio
import collections
import fcntl
import json
import math
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

TIMEOUT = 60
ROWS, WORDS, PAUSE, AWAY = 300, 400, 20, 3.0
# The tokens of the answer whose bytes are counted, with 4 ms for each.
TOKENS = 1000
# Letters that occur in no answer and in no control sequence. A frame contains only the changed cells.
KEYS = b"zqvyzqvy"
ANSWERS = ["BACON", "JUMPS", "FIGHT", "WORLD"]


class SlowProxy:
    """A TCP proxy to a local port that delays every byte, counts them, and can break its connections."""

    def __init__(self, port, delay, rate):
        self.port, self.delay, self.is_open, self.connections = port, delay, True, set()
        # Bytes in a second, and the bytes from the client and to it.
        self.rate, self.up, self.down = rate, 0, 0
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self.connected, "127.0.0.1", 0, limit=1 << 20)
        )
        self.local_port = self.server.sockets[0].getsockname()[1]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def connected(self, reader, writer):
        # A TCP handshake takes one round trip.
        await asyncio.sleep(2 * self.delay)
        if not self.is_open:
            return writer.transport.abort()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        self.connections |= {writer, far_writer}
        await asyncio.gather(self.carry(reader, far_writer, True), self.carry(far_reader, writer, False))
        self.connections -= {writer, far_writer}

    async def carry(self, reader, writer, is_up):
        queue, more, free = collections.deque(), asyncio.Event(), 0

        async def deliver():
            while True:
                while not queue:
                    more.clear()
                    await more.wait()
                due, data = queue.popleft()
                await asyncio.sleep(max(0, due - time.monotonic()))
                if not data or writer.transport.is_closing():
                    return writer.close()
                writer.write(data)

        delivering = asyncio.ensure_future(deliver())
        data = b"."
        while data:
            try:
                data = await reader.read(65536 if self.rate == math.inf else 1024)
            except OSError:
                data = b""
            if is_up:
                self.up += len(data)
            else:
                self.down += len(data)
            # As on a real network, data beyond the rate waits in the buffers of the sender.
            free = max(free, time.monotonic()) + len(data) / self.rate
            await asyncio.sleep(max(0, free - time.monotonic() - 0.1))
            queue.append((free + self.delay, data))
            more.set()
        await delivering

    def disconnect(self):
        def now():
            self.is_open = False
            for connection in self.connections:
                connection.transport.abort()
            self.connections.clear()

        self.loop.call_soon_threadsafe(now)

    def restore(self):
        self.is_open = True


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
        """Read and return the output until there is none for a while."""
        seen = b""
        while select.select([self.fd], [], [], quiet)[0]:
            seen += os.read(self.fd, 65536)
        return seen

    def shows(self, pattern, begun=None):
        """Return the milliseconds until the output matches `pattern`, and the match."""
        start, seen = begun or time.monotonic(), b""
        pattern = re.compile(pattern)
        while not (found := pattern.search(seen)):
            if not select.select([self.fd], [], [], TIMEOUT)[0]:
                sys.exit(f"`{pattern.pattern.decode()}` is not shown; the last output was {seen[-600:]!r}")
            seen += os.read(self.fd, 65536)
        return (time.monotonic() - start) * 1000, found.group()

    def write(self, keys):
        os.write(self.fd, keys)

    def key(self, key, pattern=None):
        self.write(key)
        return self.shows(pattern or re.escape(key))[0]

    def echo(self, rounds):
        """Return the echo time of some keys, and delete them."""
        times = []
        for _ in range(rounds):
            for key in KEYS:
                times.append(self.key(bytes([key])))
                time.sleep(0.03)
            self.write(b"\x15")
            time.sleep(0.1)
        return times

    def repainted(self, rows):
        """Return the complete screen at a height of `rows`."""
        self.rest()
        self.size(rows, 121)
        painted = self.rest()
        return re.sub(rb"\x1b\[[0-9;:?<>=]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", b" ", painted)


def report(name, times):
    print(f"{name}: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms ({len(times)})")


def script():
    rows = "".join(f"- row {row}\n" for row in range(1, ROWS + 1)) + "- XXXXX"
    words = "".join(f"w{word:04} " for word in range(1, WORDS + 1))
    numbered = [{"text": words, "chunk": 6, "delayMs": PAUSE}]
    vocabulary = "the of a in to file test run error line and is with for function value type not path it".split()
    tokens = " ".join(vocabulary[word * word % 19] + str(word % 7) for word in range(TOKENS - 1)) + " ENDOK"
    turns = [
        {"when": {"user": "tokens"}, "steps": [{"text": tokens, "chunk": 5, "delayMs": 4}]},
        {"when": {"user": "rows"}, "steps": [{"text": rows}]},
        {"when": {"user": "number"}, "steps": numbered},
        {"when": {"user": "meanwhile"}, "steps": [{"text": "QUICKLY"}]},
    ] + [{"when": {"user": word.lower()}, "steps": [{"text": word}]} for word in ANSWERS]
    return {"turns": [{"repeat": True, **turn} for turn in turns]}


def measure(screen, proxy, delay):
    took, _ = screen.shows(rb"on 127\.0\.0\.1")
    print(f"attached: {took:.0f} ms after the start")
    screen.rest()
    report("key echo, at rest", screen.echo(8))
    screen.rest(0.3)
    screen.write(b"rows\r")
    screen.shows(b"XXXXX")
    screen.rest()
    pages = []
    for _ in range(6):
        # A frame scrolls the screen and writes only the new rows: wait for its end.
        pages.append(screen.key(b"\x1b[5~", rb"\d[^\x00]*\x1b\[\?2026l"))
        screen.rest(0.3)
    report("page up", pages)
    palette = []
    for _ in range(6):
        palette.append(screen.key(b"\x1bx", b"enter run"))
        screen.rest(0.3)
        screen.write(b"\x1b")
        screen.rest(0.3)
    report("palette", palette)
    prompts = []
    for word in ANSWERS:
        screen.write(word.lower().encode())
        screen.rest(0.3)
        prompts.append(screen.key(b"\r", word.encode()))
        screen.rest()
    report(f"answer to a prompt (round trip: {2000 * delay:.0f})", prompts)
    before = proxy.down
    screen.write(b"tokens\r")
    screen.shows(rb"ENDOK")
    print(f"an answer of {TOKENS} tokens: {(proxy.down - before) / 1000:.1f} kB")
    screen.rest()
    stops = []
    for _ in range(4):
        screen.write(b"tokens\r")
        screen.rest(0.02)
        time.sleep(1.5)
        stops.append(screen.key(b"\x1b", rb"[Ii]nterrupted"))
        screen.rest()
    report("esc, while an answer streams", stops)
    screen.write(b"number\r")
    screen.shows(rb"w0005")
    report("key echo, while an answer streams", screen.echo(6))
    reconnect(screen, proxy)


def join(program, url, work, home, proxy):
    """Join the session with a second client."""
    before = proxy.down
    second = Screen([program, "attach", url], work, home)
    took, _ = second.shows(rb"QUICKLY")
    print(f"joining the session: {took:.0f} ms to the last answer, {(proxy.down - before) / 1000:.1f} kB so far")
    second.rest()
    print(f"  {(proxy.down - before) / 1000:.1f} kB in all")
    second.write(b"\x04")
    os.close(second.fd)
    os.waitpid(second.pid, 0)


def reconnect(screen, proxy):
    proxy.disconnect()
    start = time.monotonic()
    print("connection broken")
    at = lambda: f"  {(time.monotonic() - start) * 1000:6.0f} ms  "
    screen.shows(b"disconnected")
    print(at() + "the footer reports it")
    times = screen.echo(3)
    screen.write(b"meanwhile\r")
    report(at() + "key echo", times)
    time.sleep(max(0, start + AWAY - time.monotonic()))
    proxy.restore()
    restored = time.monotonic()
    print(at() + "connection restored, the prompt typed meanwhile is pending")
    screen.shows(rb"on 127\.0\.0\.1")
    print(at() + f"attached again, {(time.monotonic() - restored) * 1000:.0f} ms after that")
    screen.shows(rb"w\d{4}")
    print(at() + f"missed output is shown, {(time.monotonic() - restored) * 1000:.0f} ms after that")
    screen.shows(rb"QUICKLY")
    print(at() + "the prompt has an answer")
    # Everything after the rows is visible.
    painted = screen.repainted(120)
    words = collections.Counter(re.findall(rb"w\d{4}", painted))
    lost = [word for word in range(1, WORDS + 1) if not words[b"w%04d" % word]]
    duplicated = [word.decode() for word, count in words.items() if count > 1]
    prompts, answers = painted.count(b"meanwhile"), painted.count(b"QUICKLY")
    print(f"of {WORDS} words {len(lost)} lost, {len(duplicated)} duplicated; prompt shown {prompts} times, answer {answers} times")
    if lost or duplicated or (prompts, answers) != (1, 1):
        sys.exit(f"lost: {lost}, duplicated: {duplicated}")


def main():
    program = os.path.abspath(sys.argv[1])
    delay = (float(sys.argv[2]) if len(sys.argv) > 2 else 200) / 1000
    rate = float(sys.argv[3]) * 125 if len(sys.argv) > 3 else math.inf
    folder = tempfile.mkdtemp()
    home, work, server_home = f"{folder}/home", f"{folder}/work", f"{folder}/server"
    for path in (home, work, server_home):
        os.mkdir(path)
    with open(f"{work}/model.json", "w") as file:
        json.dump(script(), file)
    for path in (home, server_home):
        with open(f"{path}/settings.toml", "w") as settings:
            settings.write("discover_local_models = false\n")
    server = subprocess.Popen(
        [program, "serve", "--listen", "127.0.0.1:0", "--model", "script/model.json"],
        cwd=work, env={**os.environ, "OSIER_HOME": server_home}, stdout=subprocess.PIPE, text=True,
    )
    screen = None
    try:
        address, token = server.stdout.readline().strip()[len("http://"):].split("/#token=")
        proxy = SlowProxy(int(address.rpartition(":")[2]), delay, rate)
        print(f"{delay * 1000:.0f} ms each way")
        url = f"http://127.0.0.1:{proxy.local_port}/#token={token}"
        screen = Screen([program, "attach", url], work, home)
        measure(screen, proxy, delay)
        join(program, url, work, home, proxy)
        screen.write(b"\x04")
    finally:
        if screen:
            os.close(screen.fd)
            os.waitpid(screen.pid, 0)
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
