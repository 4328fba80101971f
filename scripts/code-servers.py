#!/usr/bin/env python3
"""Measures changes with language servers: time and memory.

    scripts/code-servers.py OSIER FOLDER

FOLDER has the packages of npm (`typescript-language-server`, `typescript`, `pyright`, `bash-language-server`). The others
are `clangd`, `/usr/bin/rust-analyzer`, and `shellcheck`, which `bash-language-server` needs for its diagnostics. A scripted
model writes a wrong file, waits until the server has read the project, and then repeats wrong and right changes. "First
diagnostics" is the time from the start of the server to the first error that it reports.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CHANGES = 10
CASES = [
    ("typescript-language-server", "node_modules/.bin/typescript-language-server", ["--stdio"], {"tsconfig.json": "{}\n"},
     "main.ts", "const n: number = {value};\nconsole.log(n);\n", ("1", "'a'")),
    ("pyright", "node_modules/.bin/pyright-langserver", ["--stdio"], {}, "main.py", "n: int = {value}\n", ("1", '"a"')),
    ("clangd", "clangd", [], {"compile_flags.txt": "-Wall\n"}, "main.c", "int n = {value};\n", ("1", "missing")),
    ("rust-analyzer", "/usr/bin/rust-analyzer", [], {
        "Cargo.toml": '[package]\nname = "main"\nversion = "0.1.0"\nedition = "2021"\n',
    }, "src/main.rs", "fn main() {{\n    let n: i32 = {value};\n    println!(\"{{n}}\");\n}}\n", ("1", '"a"')),
    ("bash-language-server", "node_modules/.bin/bash-language-server", ["start"], {}, "main.sh",
     "#!/bin/bash\necho {value}\n", ("1", "(")),
]


def memory(process):
    """The resident memory of osier and of the processes that it started, in MB."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines() if ":" in line)
            except OSError:
                continue
            rss = int(status.get("VmRSS", "0 kB").split()[0]) / 1024
            children.setdefault(int(status["PPid"]), []).append((int(entry.name), rss))
            if int(entry.name) == process:
                own = rss
    total, waiting = 0, [process]
    while waiting:
        for child, rss in children.get(waiting.pop(), []):
            total += rss
            waiting.append(child)
    return own, total


def run(osier, case, command, is_on):
    name, _, _, files, file, text, (right, wrong) = case
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        settings = home / ".config/osier/settings.toml"
        work.mkdir()
        for path, content in [*((work / path, content) for path, content in files.items()), (settings, "")]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        settings.write_text(
            f"lsp = {str(is_on).lower()}\nformat = false\n"
            f"lsp_servers = {{{name} = {{command = {json.dumps(command)}}}}}\n"
        )
        def write(value):
            return {"tool": "write", "arguments": {"file_path": file, "content": text.format(value=value)}}

        turns = [[write(wrong)], [{"wait": 8000}, write(right)]]
        turns += [[{"wait": 300}, write(wrong if number % 2 else right + " ")] for number in range(1, CHANGES + 1)]
        turns += [[{"wait": 3000}, {"text": "done"}]]
        script = Path(folder, "script.json")
        script.write_text(json.dumps({"turns": [{"steps": steps} for steps in turns]}))
        # The toolchains of rustup are in the home directory of the user.
        rust = {"RUSTUP_HOME": str(Path.home() / ".rustup"), "CARGO_HOME": str(Path.home() / ".cargo")}
        environment = {**rust, **os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / "data")}
        arguments = [osier, "--json", "--trust", "--permissions", "yolo", "--model", f"script/{script}", "go"]
        process = subprocess.Popen(arguments, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        times, reports, sizes, started, first = [], [], [], None, None
        def sample():
            while process.poll() is None:
                try:
                    sizes.append(memory(process.pid))
                except (OSError, UnboundLocalError):
                    pass
                time.sleep(0.5)

        threading.Thread(target=sample, daemon=True).start()
        for line in process.stdout:
            event = json.loads(line)
            if event.get("type") == "code_servers" and event["servers"]:
                started = started or time.monotonic()
                if first is None and any(server["diagnostics"]["errors"] for server in event["servers"]):
                    first = time.monotonic() - started
            if event.get("type") == "tool_execution_end":
                result = event["result"]
                times.append(result.get("durationMs", 0))
                reports.append("language servers report" in json.dumps(result))
        process.wait()
        own, servers = (max(size[part] for size in sizes) for part in (0, 1))
        return times, reports, own, servers, first


def main():
    osier, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    print("| server | first diagnostics | first change | later changes: median, worst | reported | memory of osier | of the server |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        program = case[1] if "/" not in case[1] or case[1].startswith("/") else os.path.join(folder, case[1])
        command = [program, *case[2]]
        off, _, plain, _, _ = run(osier, case, command, False)
        times, reports, own, servers, first = run(osier, case, command, True)
        later = times[2:]
        wrong = sum(reports[2:])
        print(
            f"| {case[0]} | {'none' if first is None else f'{first:.1f} s'} | {times[0]} ms | {statistics.median(later):.0f}, {max(later)} ms "
            f"(without: {statistics.median(off[2:]):.0f} ms) | {wrong} of {(CHANGES + 1) // 2} "
            f"| {own:.1f} MB (without: {plain:.1f} MB) | {servers:.0f} MB |",
            flush=True,
        )


main()
