// Drafts that were not sent are restored complete, in their order, and in their own session.

import assert from "node:assert/strict";
import { EventEmitter, on } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, RED, faults, picture, play, ready, say, settled, work } from "./support.mjs";

const SLOWLY = [{ text: "Slowly ", delayMs: 30 }, { text: "on and on ".repeat(2000), delayMs: 40 }];
const TURNS = [
  { when: { user: "slow" }, steps: SLOWLY },
  { when: { user: "again" }, steps: SLOWLY },
  { repeat: true, steps: [{ text: "An answer." }] },
];

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const page = await stage.page(DESKTOP);
  // While `refuses` is set, prompts wait for `refuse()`, which answers the oldest with an error.
  let refuses = false;
  // While `isDeaf` is set, the page receives nothing.
  let isDeaf = false;
  const prompts = new EventEmitter();
  const waiting = on(prompts, "prompt");
  await page.routeWebSocket(/\/api\/ws/, (socket) => {
    const other = socket.connectToServer();
    other.onMessage((message) => (isDeaf ? prompts.emit("unheard", message) : socket.send(message)));
    socket.onMessage((message) => {
      const { id, command } = JSON.parse(message);
      if (!refuses || command?.type !== "prompt") return other.send(message);
      const error = { type: "error", payload: { id, code: "refused", message: "Refused for a test." } };
      prompts.emit("prompt", () => socket.send(JSON.stringify(error)));
    });
  });
  const refuse = async () => {
    const { value } = await waiting.next();
    const [answer] = value;
    answer();
  };
  const field = () => page.inputValue("#prompt");
  const holds = (text) => page.waitForFunction((text) => document.querySelector("#prompt").value === text, text);
  const attach = () => page.setInputFiles('input[type="file"]:not([capture])', join(work, "red.png"));
  writeFileSync(join(work, "red.png"), Buffer.from(RED, "base64"));

  await page.goto(server.url);
  await ready(page);
  await say(page, "first");
  await page.locator(".answer", { hasText: "An answer." }).waitFor();
  await settled(page);
  const first = page.url();

  // During an edit, the draft and its image are kept. They return when the edit is cancelled.
  await page.fill("#prompt", "a long draft");
  await attach();
  await page.locator(".picture-chip").waitFor();
  const edit = async () => {
    await page.locator(".message.user").first().getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Edit and send again" }).click();
    await holds("first");
  };
  await edit();
  assert.equal(await page.locator(".picture-chip").count(), 0, "the image belongs to the draft");
  await page.keyboard.press("Escape");
  await holds("a long draft");
  assert.equal(await page.locator(".picture-chip").count(), 1);

  // A refused edit keeps its text, even after another session was shown.
  await edit();
  await page.fill("#prompt", "first, carefully edited");
  refuses = true;
  await page.click(".send");
  await refuse();
  await page.locator(".toast", { hasText: "Refused for a test." }).waitFor();
  await holds("first, carefully edited");
  await page.locator(".editing", { hasText: "Sending creates a new branch" }).waitFor();
  await page.click("#new-session");
  await page.waitForFunction((first) => location.href !== first, first);
  await holds("");
  await page.locator("#side .session", { hasText: "first" }).locator(".session-open").first().click();
  await holds("first, carefully edited");
  await picture(page, "desktop-edit-refused");
  assert.deepEqual(await faults(page), []);
  await page.getByRole("button", { name: "Cancel" }).click();
  await holds("a long draft");
  await page.getByRole("button", { name: "Remove red.png" }).click();

  // Refused messages return in their order, before the text that was typed meanwhile.
  await page.fill("#prompt", "");
  for (const text of ["one", "two", "three"]) await say(page, text);
  await page.fill("#prompt", "typed meanwhile");
  for (let count = 0; count < 3; count++) await refuse();
  await holds("one\n\ntwo\n\nthree\n\ntyped meanwhile");
  assert.equal(await page.locator(".toast", { hasText: "Refused for a test." }).count(), 1);

  // A message that is refused after a switch becomes the draft of its own session.
  await page.fill("#prompt", "");
  await attach();
  await say(page, "only for the first session");
  await page.click("#new-session");
  await page.waitForFunction((first) => location.href !== first, first);
  await refuse();
  await page.locator(".toast", { hasText: "Refused for a test." }).waitFor();
  assert.equal(await field(), "");
  await page.locator("#side .session", { hasText: "first" }).locator(".session-open").first().click();
  await holds("only for the first session");
  assert.equal(await page.locator(".picture-chip").count(), 1);

  // A message without a response survives a reload as the draft.
  await page.click(".send");
  await page.locator("#pending .unsent", { hasText: "only for the first session" }).waitFor();
  // The image of the draft would be lost, so the browser asks first.
  const asked = page.waitForEvent("dialog");
  await page.reload();
  assert.equal((await asked).type(), "beforeunload");
  await ready(page);
  await holds("only for the first session");
  refuses = false;

  // An executed message is no draft after a reload, although its response was lost.
  await page.fill("#prompt", "");
  isDeaf = true;
  const executed = new Promise((resolve) => {
    prompts.on("unheard", (message) => String(message).includes("executed once") && resolve());
  });
  await say(page, "executed once");
  await page.locator("#pending .unsent", { hasText: "executed once" }).waitFor();
  await executed;
  isDeaf = false;
  await page.reload();
  await ready(page);
  await page.locator(".user", { hasText: "executed once" }).waitFor();
  await holds("");
  assert.equal(await page.locator(".user", { hasText: "executed once" }).count(), 1);
  await settled(page);

  // Queued messages are withdrawn with their images.
  await say(page, "slow");
  await page.locator(".answer", { hasText: "Slowly" }).waitFor();
  await attach();
  await page.locator(".picture-chip").waitFor();
  await page.fill("#prompt", "look at this");
  await page.keyboard.press("Alt+Enter");
  await page.locator(".queued", { hasText: "look at this" }).waitFor();
  await attach();
  await page.locator(".picture-chip").waitFor();
  await page.locator("#prompt").press("Alt+Enter");
  await page.locator(".queued", { hasText: "Image" }).waitFor();
  await page.getByRole("button", { name: "Edit queued messages" }).click();
  await holds("look at this");
  assert.equal(await page.locator(".picture-chip img").count(), 2);
  await page.keyboard.press("Escape");
  await settled(page);
  await say(page, "sent with both");
  await page.locator(".user", { hasText: "sent with both" }).locator(".attached img").nth(1).waitFor();
  await settled(page);

  // Queued messages were meant for the run that is stopped: they return.
  await say(page, "again");
  await page.locator(".answer", { hasText: "Slowly" }).nth(1).waitFor();
  await page.fill("#prompt", "for this run");
  await page.keyboard.press("Alt+Enter");
  await page.locator(".queued", { hasText: "for this run" }).waitFor();
  await page.click(".stop");
  await holds("for this run");
  await settled(page);
  assert.equal(await page.locator(".queued").count(), 0);
});
