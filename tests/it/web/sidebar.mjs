// The session list: search, rename, pin, archive, export, another folder, live states.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, faults, home, picture, play, ready, say, settled, work } from "./support.mjs";

const TURNS = [
  { when: { user: "ask" }, steps: [{ tool: "bash", arguments: { command: "echo hi > hi.txt" } }] },
  { repeat: true, steps: [{ text: "An answer about herons." }] },
];

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const page = await stage.enter(server, DESKTOP);
  const rows = page.locator("#side .session");
  const row = (text) => rows.filter({ hasText: text });
  const menu = async (text, label) => {
    await row(text).hover();
    await row(text).getByRole("button", { name: /^Actions/ }).click();
    await page.getByRole("menuitem", { name: label }).click();
  };
  for (const prompt of ["alpha", "beta"]) {
    if (prompt === "beta") await page.getByRole("button", { name: "New session", exact: true }).click();
    await page.locator(".start").waitFor();
    await say(page, prompt);
    await page.locator(".answer", { hasText: "herons" }).waitFor();
    await settled(page);
  }
  await row("beta").waitFor();

  // Back returns to the session before.
  await page.goBack();
  await page.locator(".user", { hasText: "alpha" }).waitFor();
  await page.goForward();
  await page.locator(".user", { hasText: "beta" }).waitFor();

  await menu("beta", "Rename");
  await page.fill("dialog input", "Second");
  await page.keyboard.press("Enter");
  await row("Second").waitFor();
  await menu("Second", "Export as Markdown");
  await page.locator(".toast", { hasText: "Exported to" }).waitFor();
  assert.ok(readdirSync(work).some((name) => name.endsWith(".md")));

  // A stored session can be pinned and archived.
  await menu("alpha", "Close");
  await page.locator(".session-group", { hasText: "Today" }).waitFor();
  await menu("alpha", "Pin");
  await page.locator(".session-group", { hasText: "Pinned" }).waitFor();
  await page.fill("#find-session", "alpha");
  await row("Second").waitFor({ state: "detached" });
  assert.equal(await rows.count(), 1);
  await picture(page, "desktop-search");
  await page.fill("#find-session", "");
  await menu("alpha", "Archive");
  await row("alpha").waitFor({ state: "detached" });
  await page.fill("#find-session", "archived:");
  await row("alpha").waitFor();
  await page.fill("#find-session", "");

  // Another folder.
  mkdirSync(join(home, "other"));
  await page.getByRole("button", { name: "Start in another folder" }).click();
  await page.getByLabel("Folder", { exact: true }).or(page.locator("dialog input")).first().fill("other");
  await page.getByRole("button", { name: "Start session" }).click();
  await page.getByText("Enter an absolute path.").waitFor();
  assert.deepEqual(await faults(page), []);
  await page.locator("dialog input").fill(join(home, "other"));
  await page.getByRole("button", { name: "Start session" }).click();
  await page.locator("#subtitle", { hasText: "other" }).waitFor();

  // The state of a session is live.
  await say(page, "ask");
  await page.locator("#side .session.here .dot.waiting").waitFor();
  await page.getByRole("button", { name: "Refuse", exact: true }).click();
  await settled(page);
  await page.locator("#side .session.here .dot.idle").waitFor();
  assert.ok(!existsSync(join(home, "other/hi.txt")));
  await ready(page);
});
