// Many tool calls in a row are one row that opens; file changes and answers stay visible.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, faults, models, picture, play, ready, say, settled } from "./support.mjs";

const STEPS = [
  ...Array.from({ length: 6 }, (_, number) => ({ tool: "bash", arguments: { command: `echo step ${number}` } })),
  { tool: "bash", arguments: { command: "exit 3" } },
  { tool: "ls", arguments: { path: "." } },
  { tool: "write", arguments: { file_path: "new.txt", content: "new\n" } },
  { tool: "bash", arguments: { command: "echo last" } },
  { text: "All steps are done." },
];

await play(async (stage, serve) => {
  const provider = await models(["m"], (_, messages) => STEPS[messages.filter(({ role }) => role === "tool").length]);
  const server = await serve(null, { model: "here/m", permissions: "yolo" });
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "dark"],
    ["desktop", DESKTOP, "light"],
  ]) {
    const page = await stage.enter(server, size, { colorScheme });
    if ((await page.locator(".answer").count()) === 0) await say(page, "go");
    await page.locator(".answer", { hasText: "All steps are done." }).waitFor();
    await settled(page);
    const group = page.locator(".tool-group");
    await group.waitFor();
    const check = async () => {
      assert.match(await group.textContent(), /Ran 7 commands, listed 1 folder1 failed/);
      assert.deepEqual(await page.locator(".tool:visible .verb").allTextContents(), ["Wrote", "Ran"]);
    };
    await check();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-groups`);
    await page.reload();
    await ready(page);
    await group.waitFor();
    await check();
    await group.click();
    assert.equal(await page.locator(".tool:visible").count(), 10);
    assert.equal(await group.getAttribute("aria-expanded"), "true");
    await page.context().close();
  }
  provider.close();
});
