#!/usr/bin/env python3
"""Load test of `osier serve` with many open sessions, some of which stream. Needs only the standard library.

    cargo build --release && scripts/serve-load.py target/release/osier [OPEN] [STREAMING]

Prints the memory with all sessions open, while they stream and afterwards, and the delay of the deltas. The scripted model
writes a delta every 20 ms: a longer interval is the overhead of the server, of this script or of the machine.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

DELTAS, PAUSE = 200, 20


def memory(pid):
    fields = {}
    with open(f"/proc/{pid}/smaps_rollup") as rollup:
        for line in rollup:
            name, _, rest = line.partition(":")
            fields[name] = rest
    with open(f"/proc/{pid}/status") as status:
        threads = next(line.split()[1] for line in status if line.startswith("Threads"))
    return f"{int(fields['Pss'].split()[0]) / 1024:.0f} MB PSS, {threads} threads"


def cpu(pid):
    with open(f"/proc/{pid}/stat") as stat:
        words = stat.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def post(access, path, body):
    host, token = access
    name, port = host.split(":")
    reader, writer = await asyncio.open_connection(name, int(port), limit=1 << 26)
    body = json.dumps(body)
    writer.write(
        f"POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n{body}".encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 20" in head.split(b"\r\n")[0], head
    return reader, writer


async def open_session(access):
    reader, writer = await post(access, "/api/sessions", {})
    answer = json.loads(await reader.read())
    writer.close()
    return answer["id"]


async def stream(access, session):
    start = time.monotonic()
    reader, writer = await post(access, f"/api/sessions/{session}/prompt", {"message": "go"})
    first, times = None, []
    while line := await reader.readline():
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line[6:])
        if event["type"] == "message_update" and event["delta"]["type"] == "text_delta":
            now = time.monotonic()
            first = first or now - start
            times.append(now)
        if event["type"] == "agent_settled":
            assert event["outcome"]["type"] == "completed", event
            break
    writer.close()
    return first, [after - before for before, after in zip(times, times[1:])]


async def main():
    program = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    busy = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    with tempfile.TemporaryDirectory() as home:
        steps = [{"text": "word " * DELTAS, "chunk": 5, "delayMs": PAUSE}]
        with open(f"{home}/model.json", "w") as script:
            json.dump({"turns": [{"repeat": True, "steps": steps}]}, script)
        with open(f"{home}/settings.toml", "w") as settings:
            settings.write("discover_local_models = false\n")
        server = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--model", "script/model.json"],
            cwd=home, env={**os.environ, "OSIER_HOME": home}, stdout=subprocess.PIPE, text=True,
        )
        try:
            host, token = server.stdout.readline().strip()[len("http://"):].split("/#token=")
            access, pid = (host, token), server.pid
            print("empty:    ", memory(pid))
            began = time.monotonic()
            sessions = [await open_session(access) for _ in range(count)]
            took = (time.monotonic() - began) * 1000 / count
            print(f"{count} open:", memory(pid), f"{took:.1f} ms each")
            before = cpu(pid)
            runs = [asyncio.create_task(stream(access, session)) for session in sessions[:busy]]
            await asyncio.sleep(DELTAS * PAUSE / 2000)
            print(f"{busy} streaming:", memory(pid))
            ended = await asyncio.gather(*runs)
            print("after:    ", memory(pid), f"{cpu(pid) - before:.2f} s of CPU for {busy * DELTAS} deltas")
            first = sorted(one for one, _ in ended)
            gaps = sorted(gap * 1000 for _, gaps in ended for gap in gaps)
            print(f"first delta: median {statistics.median(first) * 1000:.0f} ms, worst {first[-1] * 1000:.0f} ms")
            part = lambda share: gaps[int((len(gaps) - 1) * share)]
            print(f"between deltas: median {part(0.5):.1f} ms, 99 % {part(0.99):.1f} ms, worst {gaps[-1]:.1f} ms")
        finally:
            server.terminate()
            began = time.monotonic()
            server.wait()
            print(f"end: {time.monotonic() - began:.2f} s, code {server.returncode}")


asyncio.run(main())
