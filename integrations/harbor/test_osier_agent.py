"""Runs the agent with a scripted model, through Harbor's own interface. Usage: test_osier_agent.py PROGRAM."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.agent.context import AgentContext

from osier_agent import Osier

SCRIPT = {
    "turns": [
        {
            "when": {"user": "Write the file's name"},
            "steps": [
                {"tool": "bash", "arguments": {"command": "echo \"it's done\" > /app/done.txt; echo ok"}},
                {"usage": {"input": 100, "output": 5, "cacheRead": 40, "cacheWrite": 3}},
            ],
        },
        {"when": {"toolResult": "ok"}, "steps": [{"text": "Done."}, {"usage": {"input": 10, "output": 2}}]},
        {"when": {"user": "And again"}, "steps": [{"text": "I remember."}]},
    ]
}


class Container(BaseEnvironment):
    """The files of this machine, read-only, with own folders for /app, /logs, /tmp and /usr/local/bin."""

    def __init__(self, root: Path):
        self.root = root
        self.default_user = None
        for name in ("app", "logs", "installed-agent", "bin"):
            (root / name).mkdir()
        (root / "logs" / "agent").mkdir()

    @staticmethod
    def type() -> str:
        return "bubblewrap"

    def _validate_definition(self):
        pass

    async def start(self, force_build):
        pass

    async def stop(self, delete):
        pass

    async def upload_file(self, source_path, target_path):
        command = f"cat > '{target_path}'"
        with open(source_path, "rb") as source:
            subprocess.run(self.wrapped(command), stdin=source, check=True)

    async def upload_dir(self, source_dir, target_dir):
        raise NotImplementedError

    async def download_file(self, source_path, target_path):
        raise NotImplementedError

    async def download_dir(self, source_dir, target_dir):
        raise NotImplementedError

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        ended = subprocess.run(
            self.wrapped(command),
            env={"PATH": os.environ["PATH"], "HOME": "/root", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return ExecResult(stdout=ended.stdout, stderr=ended.stderr, return_code=ended.returncode)

    def wrapped(self, command):
        words = ["bwrap", "--tmpfs", "/"]
        for path in sorted(Path("/").iterdir()):
            if path.is_symlink():
                words += ["--symlink", os.readlink(path), str(path)]
            elif path.name not in ("app", "logs", "installed-agent", "tmp", "dev", "proc", "root"):
                words += ["--ro-bind", str(path), str(path)]
        words += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/root"]
        for name in ("app", "logs", "installed-agent"):
            words += ["--bind", str(self.root / name), f"/{name}"]
        words += ["--tmpfs", "/tmp", "--bind", str(self.root / "bin"), "/usr/local/bin"]
        return [*words, "--chdir", "/app", "bash", "-c", command]


async def main(program: str, root: Path):
    container = Container(root)
    (root / "app" / "model.json").write_text(json.dumps(SCRIPT))
    logs = root / "logs" / "agent"
    agent = Osier(logs, model_name="script//app/model.json", binary=program, max_turns=5)
    await agent.setup(container)
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    assert f"osier {agent.version()}" == version.strip(), agent.version()

    context = AgentContext()
    await agent.run("Write the file's name to `done.txt`; $HOME is \"not\" expanded.", container, context)
    agent.populate_context_post_run(context)
    assert (root / "app" / "done.txt").read_text() == "it's done\n"
    assert (logs / "osier.txt").read_text() == "Done.\n"
    counts = (context.n_input_tokens, context.n_cache_tokens, context.n_output_tokens, context.cost_usd)
    assert counts == (153, 40, 7, 0), counts

    # A later step continues the conversation.
    await agent.resume("And again?", container, AgentContext())
    assert (logs / "osier.txt").read_text() == "Done.\nI remember.\n"
    prompts = [json.loads(line) for line in (logs / "session.jsonl").read_text().splitlines()]
    users = [entry for entry in prompts if entry.get("message", {}).get("role") == "user"]
    assert len(users) == 2, users

    # A failed run is an error of the trial.
    other = Osier(logs, model_name="script//app/missing.json", binary=program)
    try:
        await other.run("Hello", container, AgentContext())
    except RuntimeError as error:
        assert "missing.json" in str(error), error
    else:
        raise AssertionError("the failure is hidden")
    print("the agent works")


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(sys.argv[1], Path(folder)))
