// A slow connection: loading the page, and opening a long session, needs few requests and bytes.
//
// `OSIER_WEB_FIGURES=1` prints the figures.

import assert from "node:assert/strict";
import { PHONE, play, ready } from "./support.mjs";

/** The maximum requests and bytes of the page, and the maximum bytes of the responses that a long session needs. */
const REQUESTS = 12;
const PAGE_BYTES = 120_000;
const SESSION_BYTES = 120_000;

const PROMPTS = 20;
const words = Array.from({ length: 400 }, (_, at) => `value${(at * 7919) % 1000} = call_${at % 37}(${at})`).join("\n");
const TURNS = [{ repeat: true, steps: [{ text: `The code of this step:\n\n\`\`\`python\n${words}\n\`\`\`\n` }] }];

await play(async (stage, serve) => {
  const server = await serve(TURNS, { permissions: "yolo" });
  const at = (path) => new URL(path, server.url);
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const post = (path, body) => fetch(at(path), { method: "POST", headers, body: JSON.stringify(body) });
  const page = await stage.page(PHONE, { serviceWorkers: "block" });
  const seen = await traffic(page);
  await page.goto(server.url);
  await ready(page);
  const first = seen.take();
  const { id } = await (await post("/api/sessions", {})).json();
  for (let number = 1; number <= PROMPTS; number++)
    await (await post(`/api/sessions/${id}/prompt`, { message: `prompt ${number}.` })).text();
  seen.take();
  await page.goto(at(`/?session=${id}`).href);
  await ready(page);
  await page.getByText(`prompt ${PROMPTS}.`, { exact: true }).waitFor();
  await page.locator(".prose:not(.live) code").last().waitFor();
  const session = seen.take();
  if (process.env.OSIER_WEB_FIGURES) console.error({ first, session });
  assert.ok(first.requests <= REQUESTS, `${first.requests} requests: ${first.urls}`);
  assert.ok(first.bytes + first.frames <= PAGE_BYTES, `${first.bytes} bytes, ${first.frames} in frames`);
  assert.ok(session.bytes <= SESSION_BYTES, `${session.bytes} bytes`);
});

/** Counts the requests of a page and the bytes that it receives, in their encoded size. */
async function traffic(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  let counted = fresh();
  client.on("Network.requestWillBeSent", ({ request }) => {
    if (request.url.startsWith("data:")) return;
    counted.requests++;
    counted.urls.push(new URL(request.url).pathname);
  });
  client.on("Network.loadingFinished", ({ encodedDataLength }) => (counted.bytes += encodedDataLength));
  client.on("Network.webSocketFrameReceived", ({ response: { opcode, payloadData } }) => {
    counted.frames += opcode === 2 ? (payloadData.length * 3) / 4 : payloadData.length;
  });
  return {
    take() {
      const taken = counted;
      counted = fresh();
      return taken;
    },
  };
}

function fresh() {
  return { requests: 0, bytes: 0, frames: 0, urls: [] };
}
