// Restoring files: the preview, files changed by hand, and undoing it.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, faults, file, picture, play, say, settled, work } from "./support.mjs";

// A command writes the files: the tool `write` rejects files that the model has not read.
const writes = (path, content) => ({
  tool: "bash",
  arguments: { command: `mkdir -p src && printf '%s' '${content}' > ${path}` },
});
const TURNS = [
  { when: { toolResult: "" }, repeat: true, steps: [{ text: "Done." }] },
  { when: { user: "first" }, repeat: true, steps: [writes("src/a.txt", "one\n"), writes("notes.md", "# Notes\n")]},
  { when: { user: "second" }, repeat: true, steps: [writes("src/a.txt", "one\ntwo\n"), writes("new.txt", "new\n")]},
];

const read = (name) => readFileSync(join(work, name), "utf8");

await play(async (stage, serve) => {
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "light"],
    ["desktop", DESKTOP, "dark"],
  ]) {
    file("new.txt", "from before\n");
    const server = await serve(TURNS, { permissions: "yolo" });
    const page = await stage.enter(server, size, { colorScheme, reducedMotion: "reduce" });
    for (const word of ["first", "second"]) {
      await say(page, word);
      await page.locator(".answer", { hasText: "Done." }).nth(word === "first" ? 0 : 1).waitFor();
      await settled(page);
    }
    file("notes.md", "# Notes\n\nBy hand.\n");

    const back = async (message) => {
      await message.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Restore files to this point" }).click();
    };
    const dialog = page.locator("dialog.question");
    await back(page.locator(".user").first());
    const row = (path) => dialog.locator(".change", { hasText: path });
    await row("src/a.txt").waitFor();
    assert.match(await row("src/a.txt").innerText(), /will be deleted/);
    assert.match(await row("new.txt").innerText(), /will be reverted/);
    assert.match(await row("notes.md").innerText(), /changed by hand[\s\S]*will be deleted/);
    // The dialog shows the changes that will be lost.
    await row("src/a.txt").locator("summary").click();
    await row("src/a.txt").locator(".diff .add", { hasText: "two" }).waitFor();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-files`);
    await dialog.getByRole("button", { name: "Restore 2 files" }).click();
    await page.locator(".toast", { hasText: "2 files restored" }).waitFor();
    assert.equal(existsSync(join(work, "src/a.txt")), false);
    assert.equal(read("new.txt"), "from before\n");
    assert.equal(read("notes.md"), "# Notes\n\nBy hand.\n", "what a hand has changed stays");

    await page.locator(".toast", { hasText: "2 files restored" }).getByRole("button", { name: "Undo" }).click();
    await page.locator(".toast").nth(1).waitFor();
    assert.equal(read("src/a.txt"), "one\ntwo\n");
    assert.equal(read("new.txt"), "new\n");

    file("notes.md", "# Notes\n\nBy hand once more.\n");
    // By keyboard: files that were changed by hand are restored only if selected.
    await back(page.locator(".user").first());
    await row("notes.md").waitFor();
    await dialog.getByRole("checkbox").focus();
    await page.keyboard.press("Space");
    await dialog.getByRole("button", { name: "Restore 3 files" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "3 files restored" }).waitFor();
    assert.equal(existsSync(join(work, "notes.md")), false);

    // With nothing to restore, a message says so.
    await back(page.locator(".user").first());
    await page.locator(".toast", { hasText: "No files differ" }).waitFor();
    assert.equal(await dialog.count(), 0);
    await page.context().close();
    await server.stop();
  }
});
