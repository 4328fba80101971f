// `/usage` opens the cost and tokens of the session or of all sessions, by model, day and tool.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, faults, picture, play, say, settled } from "./support.mjs";

const USED = { usage: { input: 1200, output: 80, cacheRead: 4000, cost: { total: 0.25 } } };
const TURNS = [
  { steps: [USED, { tool: "bash", arguments: { command: "echo seven" } }] },
  { repeat: true, steps: [USED, { text: "An answer." }] },
];

await play(async (stage, serve) => {
  for (const [name, size] of [
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ]) {
    const server = await serve(TURNS, { permissions: "yolo" });
    const page = await stage.enter(server, size, { reducedMotion: "reduce" });
    await say(page, "/usage");
    const dialog = page.locator("dialog.usage");
    await dialog.getByText("No model calls in this session yet.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await say(page, "go");
    await page.locator(".answer", { hasText: "An answer." }).waitFor();
    await settled(page);
    await say(page, "/cost all week");
    await dialog.locator("td", { hasText: "bash" }).waitFor();
    assert.equal(await dialog.getByLabel("Sessions").inputValue(), "all");
    assert.equal(await dialog.getByLabel("Period").inputValue(), "week");
    await dialog.getByLabel("Sessions").selectOption("session");
    await dialog.locator("dd").first().waitFor();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-usage`);
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
  }
});
