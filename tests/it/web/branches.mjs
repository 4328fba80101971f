// Branches: an edited prompt, siblings by button and by swipe, a retry, a label, a fork.

import assert from "node:assert/strict";
import { PHONE, picture, play, ready, say, settled } from "./support.mjs";

const TURNS = ["one", "two", "three"].map((word) => ({
  when: { user: word },
  repeat: true,
  steps: [{ text: `The answer to ${word}.` }],
}));

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const page = await stage.enter(server, PHONE);
  const answer = (word) => page.locator(".answer .prose", { hasText: `The answer to ${word}.` });
  await say(page, "one");
  await answer("one").waitFor();
  await settled(page);

  // Editing creates a sibling of the first branch.
  const prompt = page.locator(".user").first();
  await prompt.getByRole("button", { name: "Edit and send again" }).click();
  assert.equal(await page.inputValue("#prompt"), "one");
  await page.getByText("Sending creates a new branch").waitFor();
  await say(page, "two");
  await answer("two").waitFor();
  await settled(page);
  assert.equal(await page.locator(".user").count(), 1);
  const siblings = page.locator(".user .siblings");
  await siblings.getByText("2 of 2").waitFor();
  await picture(page, "phone-branches");

  await siblings.getByRole("button", { name: "Previous branch" }).click();
  await answer("one").waitFor();
  await siblings.getByText("1 of 2").waitFor();
  assert.equal(await answer("two").count(), 0);

  // Swiping left shows the next sibling.
  await swipe(page, prompt, -140);
  await answer("two").waitFor();
  await siblings.getByText("2 of 2").waitFor();

  // A long press opens the menu of a message.
  // A touch shortly after another one would be a double tap.
  await page.waitForTimeout(400);
  await hold(page, prompt.locator(".prompt-text"));
  const menu = page.locator("dialog.menu");
  await menu.waitFor();
  await picture(page, "phone-menu");
  assert.deepEqual(await menu.getByRole("menuitem").allInnerTexts(), [
    "Copy",
    "Select text",
    "Edit and send again",
    "Retry",
    "Run several models",
    "Compare branches",
    "Fork into a new session",
    "Restore files to this point",
    "Label",
  ]);
  await menu.getByRole("menuitem", { name: "Retry" }).click();
  await page.locator(".user .siblings", { hasText: "3 of 3" }).waitFor();
  await settled(page);

  // A label.
  await page.locator(".user").getByRole("button", { name: "More actions" }).click();
  await menu.getByRole("menuitem", { name: "Label" }).click();
  await page.fill("dialog.question input", "the third <b>try</b>");
  await page.keyboard.press("Enter");
  await page.locator(".label-tag", { hasText: "the third <b>try</b>" }).waitFor();

  // Continuing from an answer, and a fork.
  await say(page, "three");
  await answer("three").waitFor();
  await settled(page);
  await page.locator(".answer").first().getByRole("button", { name: "More actions" }).click();
  await menu.getByRole("menuitem", { name: "Continue from here" }).click();
  await answer("three").waitFor({ state: "detached" });
  await answer("two").waitFor();
  await page.locator(".answer").first().getByRole("button", { name: "More actions" }).click();
  await menu.getByRole("menuitem", { name: "Fork into a new session" }).click();
  await page.locator(".toast", { hasText: "new session" }).waitFor();
  // The fork has one branch.
  await page.waitForFunction(() => !document.querySelector(".siblings"));
  await answer("two").waitFor();
  assert.equal(await answer("two").count(), 1);

  // The original of the fork is another session: it has its own name, and opens with its messages.
  await settled(page);
  await page.reload();
  await ready(page);
  const rows = page.locator("#side .session");
  await rows.nth(1).waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Sessions" }).click();
  const original = page.locator("#side .session:not(.here)");
  await original.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.fill("dialog.question input", "the original");
  await page.keyboard.press("Enter");
  await page.locator("#side .session:not(.here)", { hasText: "the original" }).waitFor();
  await page.locator("#side .session-open", { hasText: "the original" }).click();
  await page.locator("#title", { hasText: "the original" }).waitFor();
  await page.locator(".siblings").first().waitFor();

  // `/clone` shows a copy; `/fork` one before the last prompt, which returns to the input field. The original stays.
  const shown = () => new URL(page.url()).searchParams.get("session");
  const source = shown();
  await say(page, "/clone");
  await page.locator(".toast", { hasText: "Cloned" }).waitFor();
  const clone = shown();
  assert.notEqual(clone, source);
  await answer("two").waitFor();
  await say(page, "/fork");
  await page.waitForFunction(() => document.querySelector("#prompt").value === "two");
  assert.equal(new Set([source, clone, shown()]).size, 3);
  assert.equal(await page.locator(".user").count(), 0);
  await page.goBack();
  await answer("two").waitFor();
  assert.equal(shown(), clone);
});

async function touch(page, node) {
  const box = await node.boundingBox();
  const session = await page.context().newCDPSession(page);
  const send = (type, touchPoints) => session.send("Input.dispatchTouchEvent", { type, touchPoints });
  return { x: box.x + box.width / 2, y: box.y + Math.min(20, box.height / 2), send };
}

async function swipe(page, node, way) {
  const { x, y, send } = await touch(page, node.locator(".prompt-text"));
  await send("touchStart", [{ x, y }]);
  for (let step = 1; step <= 10; step++) await send("touchMove", [{ x: x + (way * step) / 10, y }]);
  await send("touchEnd", []);
}

async function hold(page, node) {
  const { x, y, send } = await touch(page, node);
  await send("touchStart", [{ x, y }]);
  await page.locator("dialog.menu").waitFor();
  await send("touchEnd", []);
}
