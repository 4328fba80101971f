#!/usr/bin/env python3
"""Play common jobs with branches at 80x24, count their keys and screens, and record them as an asciinema file. Needs git and the
standard library.

    cargo build --release && scripts/branches-film.py target/release/osier [FILE.cast]
    scripts/branches-film.py target/release/osier --check docs/branches.md

Starts the interface in a pseudo-terminal, with a scripted model and an empty home. Types the keys of each job in the table of
`docs/branches.md`, waits for the result of the job, and prints the table. Fails if a job has another result. `--check` types fast, and also
fails if the table is not in the file. Play the recording with `asciinema play FILE.cast`.
"""

import fcntl
import http.server
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

ROWS, COLUMNS = 24, 80
PATIENCE = 30
# Time between two keys, for people who watch.
PAUSE = 0.25

UP, DOWN, ESC, ENTER = "\x1b[A", "\x1b[B", "\x1b", "\r"
ALT_LEFT, ALT_RIGHT = "\x1b[1;3D", "\x1b[1;3C"
NAMES = {UP: "up", DOWN: "down", ESC: "esc", ENTER: "enter", ALT_LEFT: "alt+left", ALT_RIGHT: "alt+right", "\x1bt": "alt+t", "\x1br": "alt+r",
         "\x1bs": "alt+s", "\x1bM": "alt+M", "\x1bd": "alt+d", "\x0c": "ctrl+l", "\x15": "ctrl+u", "\t": "tab"}

class Seen(str):
    """In place of a key: a text to wait for."""


# A job, its keys, and a text that only the screen after the job shows. A key is a string of its own.
JOBS = [
    ("go back to the last prompt", [ESC, ESC, Seen("stay here"), UP, ENTER], "moved in the session tree"),
    ("return to where you were", [ALT_LEFT], "Wrote two."),
    ("go forward again", [ALT_RIGHT], "write two"),
    ("return, from the tree", ["\x1bt", Seen("go here"), ALT_LEFT, ESC], "went back; alt+right"),
    ("go back to a prompt, with its files", [ESC, ESC, Seen("stay here"), UP, "r", Seen("Restore 1 file"), ENTER], "1 file restored"),
    ("return with the files, and look at the tree", [ALT_LEFT, Seen("Restore 1 file"), ENTER, Seen("1 file restored"), "\x1bt"], "go here"),
    ("compare two branches", ["{", "d", "}", "d"], "Compare branches"),
    ("label an entry", [ESC, Seen("go here"), "L", *"good", ENTER], "[good]"),
    ("search all branches", ["/", *"plan", ENTER], "“plan”"),
    ("hide a branch", [ESC, "G", "x"], "hidden; u shows it again"),
    ("show it again", ["u"], "└─  ❯ [good] write one"),
    ("delete a branch permanently", ["G", "D", Seen("Delete the branch"), DOWN, ENTER], "deleted permanently"),
    ("fork in a new tab", ["f"], "tab 2/2"),
    ("fork into a new git worktree", ["\x1bt", Seen("go here"), "w"], "tab 3/3"),
    ("send the last prompt to another model", ["\x1br", Seen("film/other"), ENTER], "Another"),
    ("leave a branch with a summary", ["\x1bt", Seen("go here"), "g", "s", ENTER], "moved in the session tree"),
    ("switch the model", ["\x0c", Seen("film/other"), *"tour", ENTER], "scripted demo"),
    ("switch back", ["\x1bM"], "film/other"),
    ("find a text in all sessions, at its entry", ["\x1bs", Seen("names"), "\t", *"plan", Seen("prompt: make a plan"), ENTER], "Tree · conversation"),
    ("run two models side by side, and choose one",
     [ESC, "\x15", *"/fan", ENTER, Seen("☐"), ENTER, Seen("☑"), DOWN, ENTER, "\x1bd", Seen("/fan "), *"go", ENTER, Seen("enter apply"), ENTER],
     "applied"),
]


def turn(user, *steps):
    """A turn that answers each prompt with this text."""
    return {"when": {"user": user}, "repeat": True, "steps": list(steps)}


def script():
    """The model: writes a file on request, and answers everything else."""
    write = lambda text: {"tool": "bash", "arguments": {"command": f"echo {text} > notes.txt; echo wrote-{text}"}}
    result = lambda text: {"when": {"toolResult": f"wrote-{text}"}, "repeat": True, "steps": [{"text": f"Wrote {text}."}]}
    return {"turns": [
        result("one"), result("two"), turn("write one", write("one")), turn("write two", write("two")),
        turn("plan", {"text": "A plan: first the notes, then the tests."}),
        {"repeat": True, "steps": [{"text": "Another answer."}]},
    ]}


class Another(http.server.BaseHTTPRequestHandler):
    """A second model, to send a prompt to."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for delta, reason in (({"content": "Another answer."}, None), ({}, "stop")):
            chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")


def another_model(home):
    """Start the second model and write the settings that name it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Another)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model = {"id": "other", "contextWindow": 200000, "maxTokens": 8000}
    provider = {"baseUrl": f"http://127.0.0.1:{server.server_port}/v1", "api": "openai-chat-completions", "apiKey": "x", "models": [model]}
    with open(os.path.join(home, "models.json"), "w") as file:
        json.dump({"providers": {"film": provider}}, file)
    with open(os.path.join(home, "settings.toml"), "w") as file:
        file.write("discover_local_models = false\nrefresh_models = false\ntitles = false\n")


class Film:
    """The interface in a pseudo-terminal, and everything that it writes, with times."""

    def __init__(self, words, cwd, home):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            environment = {"HOME": home, "OSIER_HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
            os.execve(words[0], words, environment)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.begun = time.monotonic()
        self.events = []
        self.grid = [[" "] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = self.top = 0
        self.bottom = ROWS - 1
        self.rest = ""

    def read(self, seconds):
        """Read what the interface writes within this time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                continue
            try:
                text = os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                return
            if not text:
                return
            self.events.append([round(time.monotonic() - self.begun, 3), "o", text])
            self.draw(text)

    def draw(self, text):
        """Follow the cursor and the text. Colours and modes do not matter here."""
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            char = text[at]
            if char != "\x1b":
                self.put(char)
                at += 1
                continue
            found = re.match(r"\x1b\[([0-9;:?<>=]*)[ -/]*([@-~])|\x1b[\]P_^](?:[^\x07\x1b])*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78MDEHc]", text[at:])
            if not found:
                self.rest = text[at:]
                return
            if found.group(2):
                self.control(found.group(1), found.group(2))
            elif found.group() == "\x1bM" and self.row == self.top:
                self.scroll(self.top, self.bottom, -1)
            elif found.group() == "\x1bM":
                self.row -= 1
            at += found.end()

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            if self.row == self.bottom:
                self.scroll(self.top, self.bottom, 1)
            else:
                self.row = min(self.row + 1, ROWS - 1)
        elif char == "\b":
            self.column = max(self.column - 1, 0)
        elif char >= " " and self.column < COLUMNS:
            self.grid[self.row][self.column] = char
            self.column += 1

    def scroll(self, top, bottom, count):
        """Move rows up, or down for a negative count."""
        rows = self.grid[top:bottom + 1]
        blank = [[" "] * COLUMNS for _ in range(min(abs(count), len(rows)))]
        rows = rows[count:] + blank if count > 0 else blank + rows[:count]
        self.grid[top:bottom + 1] = rows[:bottom + 1 - top]

    def control(self, values, kind):
        numbers = [int(value) if value.isdigit() else 0 for value in values.split(";")]
        first = max(numbers[0], 1)
        if kind in "Hf":
            self.row = min(first, ROWS) - 1
            self.column = min(max(numbers[1], 1) if len(numbers) > 1 else 1, COLUMNS) - 1
        elif kind == "r":
            self.top = first - 1
            self.bottom = (numbers[1] if len(numbers) > 1 and numbers[1] else ROWS) - 1
            self.row = self.column = 0
        elif kind in "ST":
            self.scroll(self.top, self.bottom, first if kind == "S" else -first)
        elif kind in "LM":
            self.scroll(self.row, self.bottom, first if kind == "M" else -first)
        elif kind in "@P":
            row = self.grid[self.row]
            at, blank = self.column, [" "] * first
            row[at:] = (blank + row[at:] if kind == "@" else row[at + first:] + blank)[:COLUMNS - at]
        elif kind == "G":
            self.column = min(first, COLUMNS) - 1
        elif kind == "d":
            self.row = min(first, ROWS) - 1
        elif kind in "ABCD" and not values.startswith("?"):
            row, column = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}[kind]
            self.row = min(max(self.row + row * first, 0), ROWS - 1)
            self.column = min(max(self.column + column * first, 0), COLUMNS - 1)
        elif kind == "K":
            start, end = {1: (0, self.column + 1), 2: (0, COLUMNS)}.get(numbers[0], (self.column, COLUMNS))
            self.grid[self.row][start:end] = [" "] * (end - start)
        elif kind == "b":
            for _ in range(first):
                self.put(self.grid[self.row][self.column - 1])
        elif kind == "X":
            end = min(self.column + first, COLUMNS)
            self.grid[self.row][self.column:end] = [" "] * (end - self.column)
        elif kind == "J" and numbers[0] in (0, 2):
            if numbers[0] == 0:
                self.grid[self.row][self.column:] = [" "] * (COLUMNS - self.column)
            for row in range(self.row + 1 if numbers[0] == 0 else 0, ROWS):
                self.grid[row] = [" "] * COLUMNS

    def screen(self):
        return "\n".join("".join(row).rstrip() for row in self.grid)

    def view(self):
        """The title of the topmost view: a box, or the complete screen."""
        titles = re.findall(r"^(?:╭─ (.+?)|[ ─]([A-Z][^─]*?)) ─", self.screen(), re.MULTILINE)
        title = "".join(titles[-1]).strip() if titles else "Conversation"
        title = "Prompts" if title == "Tree · prompts" else title.split(" · ")[0]
        return re.sub(r" \d.*", "", title)

    def type(self, keys, pause):
        """Type keys. Returns the title of each view that they open."""
        views = []
        for key, after in zip(keys, [*keys[1:], ""]):
            if isinstance(key, Seen):
                self.shows(key)
            else:
                os.write(self.master, key.encode())
                self.read(pause)
            if not isinstance(after, Seen):
                view = self.view()
                views += [view] if views[-1:] != [view] else []
        return views

    def shows(self, text):
        """Wait for a text on the screen."""
        end = time.monotonic() + PATIENCE
        while text not in self.screen():
            if time.monotonic() > end:
                sys.exit(f"“{text}” is not on the screen:\n{self.screen()}")
            self.read(0.1)

    def save(self, path):
        head = {"version": 2, "width": COLUMNS, "height": ROWS, "env": {"TERM": "xterm-256color"}, "title": "Branches in osier"}
        with open(path, "w") as file:
            for line in [head, *self.events]:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def prepare(cwd):
    """A repository with one commit, which a worktree needs."""
    with open(os.path.join(cwd, "model.json"), "w") as file:
        json.dump(script(), file)
    with open(os.path.join(cwd, "notes.txt"), "w") as file:
        file.write("zero\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "begin"]):
        subprocess.run([*git, *words], cwd=cwd, check=True)


def play(film, pause):
    """Play all jobs. Returns the rows of the table."""
    rows = ["| job | keys | number | screens |", "|---|---|---|---|"]
    for job, keys, text in JOBS:
        views = film.type([*keys, Seen(text)], pause)
        film.read(4 * pause)
        keys = [key for key in keys if not isinstance(key, Seen)]
        names = " ".join(NAMES.get(key, key) for key in keys)
        rows.append(f"| {job} | `{names}` | {len(keys)} | {', '.join(views)} |")
    return rows


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, options = os.path.abspath(sys.argv[1]), sys.argv[2:]
    page = options[1] if options[:1] == ["--check"] else None
    pause = 0.05 if page else PAUSE
    with tempfile.TemporaryDirectory() as folder:
        cwd, home = os.path.join(folder, "project"), os.path.join(folder, "home")
        os.mkdir(cwd)
        os.mkdir(home)
        prepare(cwd)
        another_model(home)
        film = Film([program, "--model", "script/model.json", "--permissions", "yolo", "--trust"], cwd, home)
        film.shows("script/model.json")
        film.type([ESC], pause)
        # Three branches: the plan, and two that write the notes.
        for prompt, answer in (("make a plan", "A plan"), ("write one", "Wrote one.")):
            film.type([*prompt, ENTER, Seen(answer)], pause)
        film.type([*"/undo", ENTER, Seen("Conversation only"), "\x1b[B", ENTER, Seen("❯ write one"), "\x15", *"write two", ENTER, Seen("Wrote two.")], pause)
        film.read(4 * pause)
        rows = play(film, pause)
        os.kill(film.pid, signal.SIGKILL)
        os.waitpid(film.pid, 0)
    print("\n".join(rows))
    if page and "\n".join(rows) not in open(page).read():
        sys.exit(f"{page} has another table")
    if options and not page:
        film.save(options[0])


if __name__ == "__main__":
    main()
