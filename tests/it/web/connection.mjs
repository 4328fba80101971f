// A lost connection: missed events arrive once after it is restored; the page also opens while the server is down.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, home, picture, play, ready, say, setting, settled } from "./support.mjs";

const words = Array.from({ length: 120 }, (_, number) => `word${number}`).join(" ");
const TURNS = [
  { when: { user: "long" }, steps: [{ text: words, chunk: 8, delayMs: 25 }] },
  { repeat: true, steps: [{ text: "A short answer." }] },
];

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const page = await stage.page(PHONE, { colorScheme: "light" });
  const sockets = [];
  let open = true;
  await page.routeWebSocket(/\/api\/ws/, (socket) => {
    if (!open) return void socket.close();
    socket.connectToServer();
    sockets.push(socket);
  });
  await page.goto(server.url);
  await ready(page);

  // A directory cannot be created where a file is: a prompt that cannot be stored returns to the editor.
  setting("sessions", "");
  await say(page, "kept although there is no room");
  await page.locator(".toast.error", { hasText: "cannot create" }).waitFor();
  await page.waitForFunction(() => document.querySelector("#prompt").value === "kept although there is no room");
  rmSync(join(home, "sessions"));
  await say(page, "long");
  await page.locator(".answer", { hasText: "word10" }).waitFor();

  // The connection is lost during an answer.
  open = false;
  await Promise.all(sockets.map((socket) => socket.close()));
  await page.locator("#banner", { hasText: "Connection lost" }).waitFor();
  await picture(page, "phone-lost");
  await page.fill("#prompt", "kept while away");
  await page.click(".send");
  await page.locator(".toast", { hasText: "Not sent" }).waitFor();
  assert.equal(await page.inputValue("#prompt"), "kept while away");
  open = true;
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.locator("#banner").waitFor({ state: "hidden" });
  await settled(page);
  assert.equal((await page.locator(".answer .prose").textContent()).trim(), words);

  // A client that connects during the answer also has the complete text.
  await page.context().close();
  await server.stop();

  // Without the server, the page opens with a message, and loads the rest later.
  const other = await serve(TURNS);
  const again = await stage.enter(other, DESKTOP);
  await say(again, "hello");
  await again.locator(".answer", { hasText: "A short answer." }).waitFor();
  await settled(again);
  await again.evaluate(() => navigator.serviceWorker.ready);
  await again.waitForFunction(async () => (await (await caches.open("osier-shell-2")).keys()).length > 8);
  const address = again.url();
  // The server hangs: the page opens at once, and says that it waits.
  other.process.kill("SIGSTOP");
  await again.goto(address);
  await again.locator("#banner", { hasText: "Connecting" }).waitFor();
  other.process.kill("SIGCONT");
  await ready(again);
  await other.stop("SIGKILL");
  await again.locator("#banner").waitFor();
  await again.goto(address);
  await again.locator("#banner", { hasText: "Reconnecting" }).waitFor();
  // A draft can be written before the connection is back. If it is sent too early, it stays in the field.
  await again.locator("#prompt.early").fill("written without the server");
  await again.keyboard.press("Enter");
  await again.locator(".toast", { hasText: "Not sent" }).waitFor();
  assert.equal(await again.inputValue("#prompt"), "written without the server");
  await picture(again, "desktop-offline");
  const kept = await again.evaluate(async () =>
    (await (await caches.open("osier-shell-2")).keys()).map(({ url }) => new URL(url).pathname),
  );
  assert.deepEqual(
    kept.filter((path) => path.startsWith("/api")),
    [],
  );
  assert.ok(kept.includes("/"));
  // Failed connections are expected here.
  stage.faults = stage.faults.filter(
    (fault) => !/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|WebSocket|Failed to load|ERR_EMPTY/.test(fault),
  );
});
