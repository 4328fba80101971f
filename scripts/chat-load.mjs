#!/usr/bin/env node
// Measures the browser chat: loading on a slow connection, and scrolling through a long session. Needs Node.js, Chromium and
// `npm install --prefix DIRECTORY playwright-core axe-core`; run it on an idle machine.
//
//     cargo build --release
//     OSIER_TEST_PLAYWRIGHT=DIRECTORY OSIER_BIN=target/release/osier scripts/chat-load.mjs
//
// Prints for a slow 4G connection (1.6 Mbit/s, 150 ms) when the input field can be used, without and with the files of an earlier
// visit; and for a session of 2,200 messages the time from its end to its first message and the longest frame, on a desktop
// and on a phone whose processor is six times slower.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

process.env.OSIER_WEB_FOLDER = mkdtempSync(join(tmpdir(), "osier-chat-"));
const { DESKTOP, PHONE, play, ready } = await import("../tests/it/web/support.mjs");

const PROMPTS = Number(process.env.PROMPTS ?? 1100);
const SLOW_4G = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 };
const CODE = Array.from({ length: 12 }, (_, at) => `    value_${at} = call(${at * 7919}, "text")`).join("\n");
const TEXT = `Some **text** with \`code\` and a list:\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`python\n${CODE}\n\`\`\`\n\nAnd a last paragraph that is long enough for two lines on a desktop: it goes on and on until it is wrapped.`;
const TURNS = [{ repeat: true, steps: [{ text: TEXT }] }];

await play(async (stage, serve) => {
  const server = await serve(TURNS, { permissions: "yolo" });
  await slowLine(stage, server);
  const id = await longSession(server);
  await scroll(stage, server, id, "desktop", DESKTOP, 1);
  await scroll(stage, server, id, "phone, processor 6 times slower", PHONE, 6);
});
rmSync(process.env.OSIER_WEB_FOLDER, { recursive: true, force: true });

/** The time until the input field can be used, three times without and with the cache. */
async function slowLine(stage, server) {
  const times = { cold: [], warm: [] };
  for (let run = 0; run < 3; run++) {
    const page = await stage.page(PHONE);
    const client = await page.context().newCDPSession(page);
    await client.send("Network.enable");
    await client.send("Network.emulateNetworkConditions", SLOW_4G);
    for (const kind of ["cold", "warm"]) {
      const began = performance.now();
      await page.goto(kind === "cold" ? server.url : new URL("/", server.url).href, { waitUntil: "commit" });
      await ready(page);
      times[kind].push(performance.now() - began);
    }
    await page.context().close();
  }
  for (const [kind, list] of Object.entries(times))
    console.log(`slow 4G, ${kind}: usable after ${median(list).toFixed(0)} ms (${list.map((time) => time.toFixed(0)).join(", ")})`);
}

async function longSession(server) {
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const post = (path, body) => fetch(new URL(path, server.url), { method: "POST", headers, body: JSON.stringify(body) });
  const { id } = await (await post("/api/sessions", {})).json();
  for (let number = 1; number <= PROMPTS; number++)
    await (await post(`/api/sessions/${id}/prompt`, { message: `prompt ${number}.` })).text();
  return id;
}

/** Scrolls to the first message as a wheel does, and records the time between frames. */
async function scroll(stage, server, id, name, size, slowdown) {
  const page = await stage.page(size);
  await page.goto(server.url);
  await ready(page);
  const client = await page.context().newCDPSession(page);
  await client.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  const opened = performance.now();
  await page.goto(new URL(`/?session=${id}`, server.url).href);
  await page.getByText(`prompt ${PROMPTS}.`, { exact: true }).waitFor();
  const shown = performance.now() - opened;
  const { took, frames } = await page.evaluate(async () => {
    const scroller = document.querySelector("#scroller");
    const frames = [];
    const began = performance.now();
    let last = began;
    await new Promise((resolve) => {
      const step = (now) => {
        frames.push(now - last);
        last = now;
        scroller.scrollTop -= 400;
        const isFirst = scroller.scrollTop <= 0 && document.querySelector(".prompt-text").textContent === "prompt 1.";
        if (isFirst || now - began > 300_000) resolve();
        else requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    });
    return { took: performance.now() - began, frames };
  });
  const first = await page.getByText("prompt 1.", { exact: true }).count();
  frames.sort((a, b) => a - b);
  const at = (share) => frames[Math.floor((frames.length - 1) * share)].toFixed(0);
  console.log(
    `${name}: ${PROMPTS * 2} messages, shown after ${shown.toFixed(0)} ms, first message ${first ? "reached" : "not reached"} after ` +
      `${(took / 1000).toFixed(1)} s, frames: median ${at(0.5)} ms, 99 of 100 within ${at(0.99)} ms, longest ${at(1)} ms`,
  );
  await page.context().close();
}

function median(list) {
  return [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
}
