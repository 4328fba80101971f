// Helpers of all scripts: a server with a scripted model, a browser, pages of two sizes.
//
// `mod.rs` runs each script with the directory of the packages, the program and an empty directory.
//
// Read texts of the transcript with `textContent`: `innerText` is empty while the browser skips a message that is out of sight.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const {
  OSIER_TEST_PLAYWRIGHT: packages,
  OSIER_BIN: program,
  OSIER_WEB_FOLDER: folder,
  OSIER_WEB_PICTURES: pictures,
  OSIER_WEB_LATE: late,
} = process.env;
const from = createRequire(join(packages, "package.json"));
const { chromium } = from("playwright-core");
const axe = readFileSync(from.resolve("axe-core/axe.min.js"), "utf8");

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
export const DESKTOP = { viewport: { width: 1280, height: 800 } };
/** The timeout in milliseconds. Only a failing script waits that long. */
const PATIENCE = 120_000;

export { folder };
/** A red PNG of 16 pixels by 16. */
export const RED =
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAGklEQVR42mNcq2DMQApgYiARjGoY1TB0NAAAQrcBIJp45zUAAAAASUVORK5CYII=";

export const home = join(folder, "home");
export const work = join(folder, "work");

/** Writes a file to the project. */
export function file(name, text) {
  mkdirSync(join(work, name, ".."), { recursive: true });
  writeFileSync(join(work, name), text);
}

/** Writes a configuration file. */
export function setting(name, text) {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, name), text);
}

/**
 * A provider `here` with models of these names. `answer(model, messages)` returns `{text}`, `{tool, arguments}`, or
 * `{status, error}`.
 */
export async function models(names, answer) {
  let calls = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const { model, messages } = JSON.parse(body);
    const { text, tool, arguments: given, status, error } = answer(model, messages);
    if (status) {
      response.writeHead(status, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: { message: error } }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (choice, more) => response.write(`data: ${JSON.stringify({ choices: [choice], ...more })}\n\n`);
    const called = { index: 0, id: `call-${++calls}`, function: { name: tool, arguments: JSON.stringify(given) } };
    send({ index: 0, delta: tool ? { tool_calls: [called] } : { content: text } });
    const usage = { prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280 };
    send({ index: 0, delta: {}, finish_reason: tool ? "tool_calls" : "stop" }, { usage });
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const provider = {
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
    api: "openai-chat-completions",
    apiKey: "sk-test",
    models: names.map((id) => ({ id, cost: { input: 2, output: 10 } })),
  };
  setting("models.json", JSON.stringify({ providers: { here: provider } }));
  return server;
}

/** The violations that axe finds on a page. */
export async function faults(page) {
  // A running animation has intermediate colours.
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((animation) => animation.effect?.getTiming().iterations !== Infinity)
        .map((animation) => animation.finished.catch(() => {})),
    ),
  );
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map(({ id, nodes }) => [
    id,
    ...nodes.map(({ target, failureSummary }) => `${target}: ${failureSummary}`),
  ]);
}

/** `osier serve` with a model that plays `turns`, with another one, or without one if `model` is `null`. */
export class Server {
  async start(turns, { permissions = "ask", port = 0, model, keepSettings = false } = {}) {
    mkdirSync(home, { recursive: true });
    mkdirSync(work, { recursive: true });
    if (!keepSettings) writeFileSync(join(home, "settings.toml"), "discover_local_models = false\n");
    const script = join(folder, "model.json");
    if (turns) writeFileSync(script, JSON.stringify({ turns }));
    const options = [
      "serve",
      "--listen",
      `127.0.0.1:${port}`,
      "--permissions",
      permissions,
      ...(model === null ? [] : ["--model", model ?? `script/${script}`]),
    ];
    const environment = { PATH: process.env.PATH, HOME: home, OSIER_HOME: home };
    this.process = spawn(program, options, { cwd: work, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    const address = new Promise((resolve, reject) => {
      const hear = (piece) => {
        said += piece;
        const found = /http:\/\/127\.0\.0\.1:(\d+)\/#token=(\S+)/.exec(said);
        if (found) resolve(found);
      };
      this.process.stdout.on("data", hear);
      this.process.stderr.on("data", hear);
      this.process.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
    });
    [this.url, this.port, this.token] = await address;
    return this;
  }

  async stop(signal = "SIGTERM") {
    const ended = once(this.process, "exit");
    this.process.kill(signal);
    await ended;
  }
}

/** A browser that records the errors of its pages. */
export class Stage {
  faults = [];

  async open() {
    this.browser = await chromium.launch({
      executablePath: program_of_browser(),
      // A fake camera that needs no permission.
      args: [
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
      ],
    });
    return this;
  }

  async page(size = DESKTOP, wishes = {}) {
    const context = await this.browser.newContext({ ...size, ...wishes });
    context.setDefaultTimeout(PATIENCE);
    if (late) await context.addInitScript(comeLate, Number(late));
    const page = await context.newPage();
    page.on("pageerror", (error) => this.faults.push(error.stack));
    page.on("dialog", (dialog) => {
      // The page asks before images are lost.
      if (dialog.type() === "beforeunload") return dialog.accept();
      this.faults.push(`a dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    page.on("console", (message) => message.type() === "error" && this.faults.push(message.text()));
    return page;
  }

  /** A page that is signed in and shows a session. */
  async enter(server, size, wishes) {
    const page = await this.page(size, wishes);
    // For screen readers, the announcer repeats the text of the page.
    const byText = page.getByText.bind(page);
    page.getByText = (...given) => byText(...given).and(page.locator(":not(#announcer)"));
    await page.goto(server.url);
    await ready(page);
    return page;
  }

  close() {
    return this.browser.close();
  }
}

/** Delays frames of the server by up to `longest` milliseconds, in order, to find scripts that do not wait. */
function comeLate(longest) {
  const hears = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
  Object.defineProperty(WebSocket.prototype, "onmessage", {
    ...hears,
    set(hear) {
      const waiting = [];
      hears.set.call(this, (message) => {
        waiting.push(message);
        // Delivers the oldest frame first.
        setTimeout(() => hear(waiting.shift()), Math.random() * longest);
      });
    },
  });
}

function program_of_browser() {
  return process.env.OSIER_TEST_CHROMIUM ?? "/usr/bin/chromium";
}

/** Waits until a session is shown. */
export const ready = (page) => page.locator("#prompt:enabled:not(.early)").waitFor();

/** Types and sends a prompt. */
export async function say(page, text) {
  await page.fill("#prompt", text);
  await page.click(".send");
}

/** Waits until the agent has stopped. */
export async function settled(page) {
  await page.locator(".stop").waitFor({ state: "hidden" });
  await page.waitForFunction(() => !document.querySelector(".prose.live"));
}

/** Stores a screenshot if requested. */
export async function picture(page, name) {
  if (!pictures) return;
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** Runs a script and fails with the recorded errors. */
export async function play(act) {
  const stage = await new Stage().open();
  const servers = [];
  const serve = async (...given) => {
    const server = await new Server().start(...given);
    servers.push(server);
    return server;
  };
  try {
    await act(stage, serve);
    if (stage.faults.length) throw new Error(`the page said:\n${stage.faults.join("\n")}`);
    console.log("played");
  } catch (error) {
    console.error(error);
    if (stage.faults.length) console.error(stage.faults.join("\n"));
    const pages = stage.browser.contexts().flatMap((context) => context.pages());
    for (const page of pages)
      console.error(
        await page
          .locator("body")
          .innerText()
          .catch(() => ""),
      );
    process.exitCode = 1;
  } finally {
    await stage.close();
    for (const server of servers) if (server.process.exitCode === null) server.process.kill("SIGKILL");
    // A model server that a failed script left open would keep this process running.
    if (process.exitCode) process.exit();
  }
}
