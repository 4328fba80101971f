// A waiting question outlives a lost connection, and disappears with the process that asked it.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, play, ready, say, work } from "./support.mjs";

const call = (name) => ({ tool: "bash", arguments: { command: `touch ${name}` } });
const TURNS = [
  { when: { user: "first" }, steps: [call("first")] },
  { when: { user: "second" }, steps: [call("second")] },
  { repeat: true, steps: [{ text: "Done." }] },
];

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const page = await stage.page(DESKTOP);
  const sockets = [];
  let isOpen = true;
  await page.routeWebSocket(/\/api\/ws/, (socket) => {
    if (!isOpen) return void socket.close();
    socket.connectToServer();
    sockets.push(socket);
  });
  await page.goto(server.url);
  await ready(page);
  const card = page.locator(".ask");
  const allow = () => card.getByRole("button", { name: "Allow once" }).click();

  // An answer that is given without a connection is sent when the connection is back.
  await say(page, "first");
  await card.getByText("$ touch first").waitFor();
  isOpen = false;
  await Promise.all(sockets.map((socket) => socket.close()));
  await page.locator("#banner", { hasText: "Connection lost" }).waitFor();
  await allow();
  isOpen = true;
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.locator(".answer", { hasText: "Done." }).waitFor();
  assert.ok(existsSync(join(work, "first")));

  // The question of a killed process disappears, and its run is shown as not ended.
  await say(page, "second");
  await card.getByText("$ touch second").waitFor();
  await server.stop("SIGKILL");
  await page.locator("#banner", { hasText: "Connection lost" }).waitFor();
  await serve(TURNS, { port: server.port, keepSettings: true });
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.locator(".failure", { hasText: "The run did not end" }).waitFor();
  await card.waitFor({ state: "detached" });
  assert.ok(!existsSync(join(work, "second")));

  // Retry asks the question of the new process.
  await page.locator(".failure").getByRole("button", { name: "Retry" }).click();
  await card.getByText("$ touch second").waitFor();
  await allow();
  await page.locator(".answer", { hasText: "Done." }).nth(1).waitFor();
  await page.locator(".notice.error", { hasText: "The run did not end" }).waitFor();
  // Failed connections are expected here.
  stage.faults = stage.faults.filter((fault) => !/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|WebSocket|Failed to load|ERR_EMPTY/.test(fault));
});
