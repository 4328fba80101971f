#!/usr/bin/env node
// Measures the LLM proxy against direct calls. Needs Node.js; run it on an idle machine.
//
//     cargo build --release && scripts/proxy-load.mjs target/release/osier
//
// Starts a model server that answers at once, or after DELAY milliseconds, and `osier serve --proxy` in front of it. Prints
// for both the time of a call alone, the calls per second, the processor time of the proxy and the time to the first byte
// with 200 calls in parallel.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Worker, isMainThread, parentPort } from "node:worker_threads";

const PARALLEL = 200;
const CALLS = Number(process.env.CALLS ?? 4000);
const DELAY = Number(process.env.DELAY ?? 0);

const chunk = (delta, more = {}) =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: "one", choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
const ANSWER =
  chunk({ role: "assistant", content: "Hello" }) +
  chunk({}, { finish_reason: "stop" }) +
  `data: ${JSON.stringify({ id: "1", choices: [], usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 } })}\n\ndata: [DONE]\n\n`;

if (!isMainThread) {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume();
    const answer = () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(ANSWER);
    };
    request.on("end", () => (DELAY ? setTimeout(answer, DELAY) : answer()));
  });
  server.listen(0, "127.0.0.1", 2048, () => parentPort.postMessage(server.address().port));
} else {
  await main(process.argv[2]);
}

/** The time to the first byte of the body and to its end, in milliseconds. */
function call(agent, url, headers, body) {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const request = http.request(url, { method: "POST", agent, headers: { "content-type": "application/json", ...headers } }, (response) => {
      let first = 0;
      let text = "";
      response.on("data", (data) => {
        first ||= performance.now() - begun;
        text += data;
      });
      response.on("end", () => {
        if (response.statusCode !== 200 || !text.includes("Hello")) return reject(new Error(`${response.statusCode}: ${text}`));
        resolve({ first, end: performance.now() - begun });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function run(parallel, calls, one) {
  const times = [];
  let left = calls;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (left-- > 0) times.push(await one());
    }),
  );
  return { times, seconds: (performance.now() - begun) / 1000 };
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

/** The time that a process has used the processors, in milliseconds. */
function used(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function measure(name, url, headers, body, pid) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: PARALLEL });
  const one = () => call(agent, url, headers, body);
  await run(4, 100, one);
  const alone = await run(1, 500, one);
  const before = pid && used(pid);
  const many = await run(PARALLEL, CALLS, one);
  if (pid) console.log(`        ${((used(pid) - before) / CALLS).toFixed(2)} ms of processor time a call`);
  agent.destroy();
  const figures = {
    alone: median(alone.times.map((time) => time.end)),
    perSecond: CALLS / many.seconds,
    first: median(many.times.map((time) => time.first)),
  };
  console.log(
    `${name.padEnd(7)} ${figures.alone.toFixed(2)} ms a call, ${figures.perSecond.toFixed(0)} calls/s, first byte at ${PARALLEL} parallel ${figures.first.toFixed(0)} ms`,
  );
  return figures;
}

async function main(osier) {
  const upstream = new Worker(new URL(import.meta.url));
  const port = await new Promise((resolve) => upstream.once("message", resolve));
  const home = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), "proxy-load-"));
  const models = {
    providers: {
      vendor: {
        baseUrl: `http://127.0.0.1:${port}/v1`,
        api: "openai-chat-completions",
        apiKey: "key-of-the-server-123456",
        models: [{ id: "one", contextWindow: 8000, maxTokens: 1000, cost: { input: 1, output: 1 } }],
      },
    },
  };
  writeFileSync(join(home, "models.json"), JSON.stringify(models));
  writeFileSync(join(home, "settings.toml"), 'discover_local_models = false\nmodel = "vendor/one"\n');
  const env = { ...process.env, OSIER_HOME: home };
  const users = Array.from({ length: 10 }, (_, at) =>
    execFileSync(osier, ["serve", "users", "add", `user${at}`, "--calls", "1000"], { env }).toString().trim(),
  );
  const server = spawn(osier, ["serve", "--proxy", "--listen", "127.0.0.1:0"], { env, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const line = await new Promise((resolve) => createInterface(server.stdout).once("line", resolve));
    const url = `${line.split("/#")[0]}/api/proxy/stream`;
    const message = { role: "user", content: "hello" };
    const direct = JSON.stringify({ model: "one", stream: true, messages: [message] });
    const context = { systemPrompt: "", messages: [{ role: "user", content: [{ type: "text", text: "hello" }], timestamp: 0 }], tools: [] };
    const asked = JSON.stringify({ provider: "vendor", model: "one", context, options: {} });
    // The rate limit is for each token.
    let next = 0;
    const headers = { get authorization() { return `Bearer ${users[next++ % users.length]}`; } };
    const one = await measure("direct", `http://127.0.0.1:${port}/v1/chat/completions`, {}, direct);
    const other = await measure("proxy", url, headers, asked, server.pid);
    console.log(
      `the proxy adds ${(other.alone - one.alone).toFixed(2)} ms to a call; first byte ${(other.first / one.first).toFixed(2)} times as late`,
    );
  } finally {
    server.kill();
    await upstream.terminate();
    rmSync(home, { recursive: true });
  }
}
