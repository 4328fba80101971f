// The prompt editor: images by file, paste and drop; voice; queued messages; stop; another model; light and dark.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, RED, picture, play, ready, say, settled, work } from "./support.mjs";

const TURNS = [
  {
    when: { user: "slow" },
    steps: [
      { text: "Slowly", chunk: 1, delayMs: 30 },
      { text: " on and on".repeat(200), chunk: 4, delayMs: 40 },
    ],
  },
  { repeat: true, steps: [{ text: "Seen." }] },
];

/** A fake speech recognizer. */
function hears() {
  window.SpeechRecognition = class {
    start() {
      setTimeout(() => this.onresult({ results: [[{ transcript: "what was " }], [{ transcript: "spoken" }]] }), 10);
    }
    stop() {
      this.onend();
    }
  };
}

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const page = await stage.page(DESKTOP, { colorScheme: "light" });
  await page.addInitScript(hears);
  await page.goto(server.url);
  await ready(page);

  // Images.
  writeFileSync(join(work, "red.png"), Buffer.from(RED, "base64"));
  await page.setInputFiles('input[type="file"]:not([capture])', join(work, "red.png"));
  await page.locator(".picture-chip").waitFor();
  await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const carried = () => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
      return transfer;
    };
    document
      .querySelector("#prompt")
      .dispatchEvent(new ClipboardEvent("paste", { clipboardData: carried(), bubbles: true, cancelable: true }));
    document
      .querySelector("#main")
      .dispatchEvent(new DragEvent("drop", { dataTransfer: carried(), bubbles: true, cancelable: true }));
  }, RED);
  await page.locator(".picture-chip").nth(2).waitFor();
  await page.getByRole("button", { name: "Remove red.png" }).click();
  assert.equal(await page.locator(".picture-chip").count(), 2);
  await say(page, "look");
  await page.locator(".answer", { hasText: "Seen." }).waitFor();
  assert.deepEqual(
    await page
      .locator(".user .attached img")
      .evaluateAll((images) => images.map(({ naturalWidth }) => naturalWidth)),
    [16, 16],
  );
  await settled(page);

  // A file that is no image.
  writeFileSync(join(work, "note.txt"), "hello");
  await page.setInputFiles('input[type="file"]:not([capture])', join(work, "note.txt"));
  await page.locator(".picture-chip .file", { hasText: "note.txt" }).waitFor();
  await page.getByRole("button", { name: "Remove note.txt" }).click();

  // Voice input.
  await page.getByRole("button", { name: "Dictate" }).click();
  await page.waitForFunction(() => document.querySelector("#prompt").value === "what was spoken");
  await page.getByRole("button", { name: "Dictate" }).click();
  await page.fill("#prompt", "");

  // The camera of a desktop.
  await page.getByRole("button", { name: "Take a picture" }).click();
  const camera = page.locator("dialog.camera");
  await camera.getByRole("button", { name: "Take picture" }).click();
  await camera.waitFor({ state: "detached" });
  await page.locator(".picture-chip img").waitFor();
  assert.equal(await page.evaluate(() => document.querySelectorAll("video").length), 0, "it is off again");
  await page.getByRole("button", { name: "Remove camera.jpg" }).click();
  await page.getByRole("button", { name: "Take a picture" }).click();
  await camera.getByRole("button", { name: "Cancel" }).click();
  await camera.waitFor({ state: "detached" });
  assert.equal(await page.locator(".picture-chip").count(), 0);

  // File names.
  await page.locator("#prompt").pressSequentially("read @red");
  await page.locator(".suggestion", { hasText: "@red.png" }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.inputValue("#prompt"), "read @red.png ");
  await page.fill("#prompt", "");

  // Queued messages, recalling them, and stop.
  await say(page, "slow");
  await page.locator(".answer", { hasText: "Slowly" }).waitFor();
  await page.fill("#prompt", "and then this");
  await page.keyboard.press("Alt+Enter");
  await page.locator(".queued", { hasText: "and then this" }).waitFor();
  await picture(page, "desktop-queue");
  await page.getByRole("button", { name: "Edit queued messages" }).click();
  await page.waitForFunction(() => document.querySelector("#prompt").value === "and then this");
  await page.keyboard.press("Escape");
  await page.locator(".stopped", { hasText: "Stopped" }).waitFor();
  await settled(page);
  await page.fill("#prompt", "");

  // A shell command of the user.
  await say(page, "!echo by hand");
  await page.locator(".tool .output", { hasText: "by hand" }).waitFor();

  // Messages that are sent at once: none is lost, and they keep their order.
  await page.evaluate(() => {
    const field = document.querySelector("#prompt");
    for (const text of ["/name Sent at once", "the first of two", "the second of two"]) {
      field.value = text;
      field.dispatchEvent(new Event("input"));
      field.form.requestSubmit();
    }
  });
  await page.locator("#title", { hasText: "Sent at once" }).waitFor();
  await page.locator("#side .session-name", { hasText: "Sent at once" }).waitFor();
  await page.locator(".prompt-text", { hasText: "the second of two" }).waitFor();
  await settled(page);
  const prompts = await page.locator(".prompt-text").allTextContents();
  assert.deepEqual(prompts.slice(-2), ["the first of two", "the second of two"]);

  // Light and dark; the choice is stored.
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByRole("button", { name: "Switch between light and dark" }).click();
  assert.notEqual(await ground(), light);
  await page.reload();
  await ready(page);
  assert.notEqual(await ground(), light);

  // Renaming the session, and the session list.
  await page
    .locator("#side")
    .getByRole("button", { name: /^Actions for/ })
    .first()
    .click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  await page.fill("dialog.question input", "My <i>session</i>");
  await page.keyboard.press("Enter");
  await page.locator("#title", { hasText: "My <i>session</i>" }).waitFor();
  await page.locator("#side .session-name", { hasText: "My <i>session</i>" }).waitFor();
  await page.getByRole("button", { name: "New session" }).click();
  await page.locator(".start").waitFor();
  await page.locator("#side .session-open", { hasText: "My <i>session</i>" }).click();
  await page.locator(".answer", { hasText: "Seen." }).first().waitFor();
});
