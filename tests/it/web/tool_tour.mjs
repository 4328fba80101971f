// The conversation of `tool_tour.rs` in the page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, folder, picture, play, say, settled, work } from "./support.mjs";

await play(async (stage, serve) => {
  const turns = JSON.parse(readFileSync(join(folder, "turns.json"), "utf8"));
  const server = await serve(turns, { permissions: "yolo", keepSettings: true });
  const page = await stage.enter(server, DESKTOP, { colorScheme: "light" });
  await say(page, "go");
  await page.locator("#question-title").waitFor();
  await picture(page, "tool-tour-question");
  await page.getByText("blue", { exact: true }).click();
  await page.getByText("All tools work.").waitFor();
  await settled(page);
  await picture(page, "tool-tour");
  assert.deepEqual(await page.locator(".tool .verb").allTextContents(), [
    "Updated the to-do list",
    "Read",
    "Read",
    "Edited",
    "Patched",
    "Searched the web for",
    "Fetched",
    "Looked for tools",
    "fake__echo",
    "Ran",
    "Asked",
  ]);
  assert.equal(readFileSync(join(work, "notes.md"), "utf8"), "# Notes\n");
});
