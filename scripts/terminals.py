#!/usr/bin/env python3
"""Take screenshots of images in the terminals of this machine. Each terminal runs osier on its own X display.

    scripts/terminals.py [--osier BINARY] [--theme NAME] [--into DIRECTORY] [TERMINAL ...]

Needs Xvfb, xdotool, ImageMagick's `import`, and the selected terminals: kitty, xterm, mlterm, tmux. Each screenshot shows
the complete screen after one step: `scroll-3.png` is three rows up. The test image is a colour ramp with a diagonal across
it, so that a row in the wrong position is visible as a step. Check the screenshots by eye.
"""

import argparse
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
XTERM = ["xterm", "-ti", "vt340", "-fa", "DejaVu Sans Mono", "-fs", "11", "-geometry", "90x34",
         "-xrm", "XTerm*decTerminalID: vt340", "-xrm", "XTerm*sixelScrolling: true", "-xrm", "XTerm*numColorRegisters: 256"]
KITTY = ["kitty", "--config", "NONE", "-o", "linux_display_server=x11", "-o", "cursor_blink_interval=0",
         "-o", "remember_window_size=no", "-o", "initial_window_width=90c", "-o", "initial_window_height=34c",
         "-o", "confirm_os_window_close=0", "-o", "update_check_interval=0"]
TMUX = ["tmux", "-L", "osier-terminals", "-f", "/dev/null", "set", "-g", "default-terminal", "tmux-256color", ";",
        "set", "-g", "allow-passthrough", "on", ";", "new-session"]
TERMINALS = {
    "xterm": XTERM + ["-bg", "#16181d", "-fg", "#d7dae0", "-e"],
    "xterm-light": XTERM + ["-bg", "white", "-fg", "black", "-e"],
    "mlterm": ["mlterm", "-g", "90x34", "-b", "#16181d", "-f", "#d7dae0", "-e"],
    "kitty": KITTY + ["--"],
    "kitty-light": KITTY + ["-o", "background=#ffffff", "-o", "foreground=#202020", "--"],
    "kitty-tmux": KITTY + ["--"] + TMUX,
    "xterm-tmux": XTERM + ["-bg", "#16181d", "-fg", "#d7dae0", "-e"] + TMUX,
}
TEXT = ("Before the picture: 日本語 und 😀 in one row |\n\n| cjk | emoji | rtl |\n|---|---|---|\n| 漢字 | 👩‍🚀 | שלום |\n| a | é | b |\n\n"
        + "\n".join(f"{row}. A row before it\n" for row in range(1, 9))
        + "\n![the ramp](ramp.png)\n\n"
        + "\n".join(f"{row}. A row behind it\n" for row in range(1, 9)) + "\n`The end.`")
STEPS = [
    ("answer", []),
    *[(f"scroll-{row}", ["key shift+Up"]) for row in range(1, 5)],
    ("page-up", ["key Prior"]),
    *[(f"back-{row}", ["key shift+Down"]) for row in range(1, 4)],
    ("page-down", ["key Next"]),
    ("middle", ["key shift+Up"] * 6),
    ("overlay", ["key F2"]),
    ("overlay-closed", ["key Escape"]),
    ("help", ["key F1"]),
    ("help-closed", ["key Escape"]),
    ("narrow", ["size 520 500"]),
    ("wide", ["size 1000 800"]),
    ("prompt", ["key ctrl+Home"]),
    ("bottom", ["key ctrl+End"]),
    ("typed", ["type one two", "key shift+Return", "type three"]),
]


def ramp(width=420, height=300):
    """Return a PNG whose rows differ in colour, with a diagonal and a border."""
    def pixel(x, y):
        if min(x, y) < 3 or x >= width - 3 or y >= height - 3 or abs(x * height // width - y) < 3:
            return bytes((255, 255, 255))
        return bytes((255 * y // height, 120, 255 - 255 * y // height))
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(width)) for y in range(height))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Display:
    """An X server and its window."""

    def __init__(self):
        reading, writing = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-screen", "0", "1100x850x24"],
                                       pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading) as number:
            self.name = ":" + number.readline().strip()

    def xdotool(self, *arguments):
        done = subprocess.run(["xdotool", *arguments], env=os.environ | {"DISPLAY": self.name}, capture_output=True, text=True)
        return done.stdout.split()

    def screenshot(self, path):
        """Write a screenshot when the display no longer changes."""
        before, until = None, time.monotonic() + 8
        while time.monotonic() < until:
            time.sleep(0.4)
            subprocess.run(["import", "-display", self.name, "-window", "root", str(path)], check=True)
            # The file contains the time of the screenshot: compare the pixels only.
            pixels = subprocess.run(["identify", "-format", "%#", str(path)], capture_output=True, check=True).stdout
            if pixels == before:
                return
            before = pixels
        print(f"{path.name}: the display still changes", file=sys.stderr)


def run(name, osier, theme, into):
    into.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="osier-terminals-"))
    project = work / "home" / "project"
    project.mkdir(parents=True)
    (project / "ramp.png").write_bytes(ramp())
    (project / "script.json").write_text(json.dumps({"turns": [{"repeat": True, "steps": [{"text": TEXT}]}]}))
    display = Display()
    command = [str(osier), "--theme", theme, "--model", "script/script.json", "@ramp.png", "Show it"] if theme else \
        [str(osier), "--model", "script/script.json", "@ramp.png", "Show it"]
    environment = {key: value for key, value in os.environ.items()
                   if key in ("PATH", "LANG", "LC_ALL", "LIBGL_ALWAYS_SOFTWARE", "XDG_RUNTIME_DIR")}
    environment |= {"DISPLAY": display.name, "HOME": str(work / "home"), "LIBGL_ALWAYS_SOFTWARE": "1",
                    "LANG": environment.get("LANG", "C.UTF-8"), "TMUX_TMPDIR": str(work)}
    terminal = subprocess.Popen(TERMINALS[name] + command, env=environment, cwd=project,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        window = []
        until = time.monotonic() + 20
        while not window and time.monotonic() < until:
            time.sleep(0.2)
            window = display.xdotool("search", "--onlyvisible", "--name", ".")
        display.xdotool("windowmove", window[0], "0", "0")
        display.xdotool("windowfocus", window[0])
        time.sleep(2)
        for step, actions in STEPS:
            for action in actions:
                kind, _, rest = action.partition(" ")
                if kind == "size":
                    display.xdotool("windowsize", window[0], *rest.split())
                else:
                    display.xdotool(kind, rest)
                time.sleep(0.15)
            display.screenshot(into / f"{step}.png")
    finally:
        if name.endswith("-tmux"):
            subprocess.run([*TMUX[:3], "kill-server"], env=environment, stderr=subprocess.DEVNULL)
        terminal.terminate()
        terminal.wait()
        display.server.terminate()
        display.server.wait()
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--osier", type=pathlib.Path, default=target / "debug" / "osier")
    parser.add_argument("--theme", default="")
    parser.add_argument("--into", type=pathlib.Path, default=pathlib.Path("terminals"))
    parser.add_argument("terminals", nargs="*", metavar="TERMINAL", help=" ".join(TERMINALS))
    options = parser.parse_args()
    for name in options.terminals or TERMINALS:
        run(name, options.osier.resolve(), options.theme, options.into.resolve() / name)
        print(name, "screenshots written to", options.into / name)


main()
