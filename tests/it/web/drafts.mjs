// Drafts stay with their session over a reload; a sent message is shown at once; a dead connection is detected.

import assert from "node:assert/strict";
import { DESKTOP, faults, picture, play, ready, say, settled } from "./support.mjs";

const TURNS = [{ repeat: true, steps: [{ text: "An answer." }] }];

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const page = await stage.page(DESKTOP);
  // A silent connection delivers nothing, and does not close.
  let silent = false;
  // The connection is cut after the next prompt was sent, before its response.
  let swallows = false;
  await page.routeWebSocket(/\/api\/ws/, (socket) => {
    // No other connection opens meanwhile: a real one never loses its first frames.
    if (silent) return socket.close();
    const other = socket.connectToServer();
    let cut = false;
    socket.onMessage((message) => {
      if (silent || cut) return;
      other.send(message);
      if (!swallows || JSON.parse(message).command?.type !== "prompt") return;
      [swallows, cut] = [false, true];
      socket.close();
    });
    other.onMessage((message) => silent || cut || socket.send(message));
  });
  await page.goto(server.url);
  await ready(page);
  await say(page, "first");
  await page.locator(".answer", { hasText: "An answer." }).waitFor();
  await settled(page);
  const first = page.url();

  // A draft survives a reload, and a new session starts without it.
  await page.fill("#prompt", "a draft\nof two lines");
  await page.reload();
  await ready(page);
  assert.equal(await page.inputValue("#prompt"), "a draft\nof two lines");
  await page.getByRole("button", { name: "New session" }).click();
  await page.waitForFunction((first) => location.href !== first, first);
  await ready(page);
  assert.equal(await page.inputValue("#prompt"), "");
  await page.fill("#prompt", "another draft");
  await page.locator("#side .session", { hasText: "first" }).locator(".session-open").first().click();
  await page.waitForFunction(() => document.querySelector("#prompt").value === "a draft\nof two lines");
  await page.click(".send");
  await page.locator(".answer").nth(1).waitFor();
  await settled(page);
  await page.reload();
  await ready(page);
  assert.equal(await page.inputValue("#prompt"), "", "a sent message is no draft");

  // The connection becomes silent: the message is shown as pending. When the page detects that, the message waits and is sent
  // when the connection is back.
  await page.clock.install();
  silent = true;
  await say(page, "into the void");
  const pending = page.locator("#pending .unsent", { hasText: "into the void" });
  await pending.getByText("Sending…").waitFor();
  await page.clock.runFor(300);
  assert.deepEqual(await faults(page), []);
  await picture(page, "desktop-pending");
  await page.clock.runFor(10_000);
  await page.locator("#banner", { hasText: "Connection lost" }).waitFor();
  await pending.getByText("Waits for the connection").waitFor();
  assert.equal(await page.inputValue("#prompt"), "");
  silent = false;
  await page.clock.resume();
  await page.locator("#banner").waitFor({ state: "hidden" });
  await page.locator(".prompt-text", { hasText: "into the void" }).waitFor();
  await page.locator("#pending").waitFor({ state: "hidden" });
  await settled(page);

  // The connection is lost before the response: the message is executed once.
  swallows = true;
  await say(page, "sent twice");
  await page.locator(".prompt-text", { hasText: "sent twice" }).waitFor();
  await page.locator("#pending").waitFor({ state: "hidden" });
  await settled(page);
  await page.reload();
  await ready(page);
  assert.equal(await page.locator(".prompt-text", { hasText: "sent twice" }).count(), 1);
  assert.equal(await page.inputValue("#prompt"), "");
});
