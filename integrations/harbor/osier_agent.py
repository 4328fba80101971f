"""osier as an agent for Harbor, which runs Terminal-Bench and other benchmarks. README.md says how to use it."""

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Annotated, override

from harbor.agents.agent_auth_resolution import ModelConnectionSpec
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.agents.options import Cli, InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from pydantic import Field

PROGRAM = "/usr/local/bin/osier"


class OsierOptions(InstalledAgentOptions):
    binary: str | None = Field(
        default=None,
        description="The osier program on this machine; by default OSIER_BINARY, else `osier` in PATH.",
    )
    reasoning_effort: Annotated[str | None, Cli("--thinking")] = Field(
        default=None, description="Thinking level."
    )
    max_turns: Annotated[int | None, Cli("--max-turns")] = Field(
        default=None, ge=1, description="Maximum number of model calls."
    )
    base_url: Annotated[str | None, Cli("--base-url")] = Field(
        default=None, description="Base URL of the model's provider."
    )


class Osier(BaseInstalledAgent):
    """Copies the osier program into the environment and gives it the instruction in print mode."""

    capabilities = AgentCapabilities(base_url=True, reasoning_effort=True, resume=True)
    MODEL_CONNECTION = ModelConnectionSpec(base_url_destination_names={"default": None})
    options_model = OsierOptions
    options: OsierOptions

    @staticmethod
    @override
    def name() -> str:
        return "osier"

    @override
    def get_version_command(self) -> str | None:
        return f"{PROGRAM} --version"

    @override
    def parse_version(self, stdout: str) -> str:
        return stdout.strip().removeprefix("osier").strip()

    def binary(self) -> Path:
        named = self.options.binary or self._get_env("OSIER_BINARY") or shutil.which("osier")
        if named is None or not os.access(named, os.X_OK):
            raise ValueError(
                f"no osier program at {named}: pass `--agent-kwarg binary=PATH` or set OSIER_BINARY"
            )
        return Path(named)

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        await environment.upload_file(self.binary(), PROGRAM)
        await self.exec_as_root(environment, command=f"chmod 755 {PROGRAM} && {PROGRAM} --version")

    @override
    @with_prompt_template
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        if not self.model_name:
            raise ValueError("osier needs a model: pass `--model PROVIDER/MODEL`")
        logs = self.environment_logs_dir
        words = [
            PROGRAM,
            "--print",
            "--model",
            self.model_name,
            # The environment is the sandbox.
            "--permissions",
            "yolo",
            "--sandbox",
            "off",
            # The same file continues the conversation in a later step.
            "--session",
            str(logs / "session.jsonl"),
            "--accounting",
            str(logs / "calls.jsonl"),
        ]
        flags = self.build_cli_flags()
        command = " ".join(
            [
                f"printf %s {shlex.quote(instruction)} |",
                shlex.join(words),
                flags,
                f"2>&1 | tee -a {shlex.quote(str(logs / 'osier.txt'))}",
            ]
        )
        await self.exec_as_agent(
            environment,
            command=f"set -o pipefail; {command}",
            env={**self.model_connection.env, "OSIER_HOME": "/tmp/osier"},
        )

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        """Adds the tokens and the cost of all model calls."""
        calls = self.logs_dir / "calls.jsonl"
        if not calls.is_file():
            return
        entries = [json.loads(line) for line in calls.read_text().splitlines()]
        usages = [entry["usage"] for entry in entries if entry["type"] == "llm"]
        context.n_cache_tokens = sum(usage["cacheRead"] for usage in usages)
        context.n_input_tokens = context.n_cache_tokens + sum(
            usage["input"] + usage["cacheWrite"] for usage in usages
        )
        context.n_output_tokens = sum(usage["output"] for usage in usages)
        context.cost_usd = sum(usage["cost"]["total"] for usage in usages)
