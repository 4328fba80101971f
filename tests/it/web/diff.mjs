// A diff has the colours of its language, and marks the changed part of a line across them. Footnotes of two answers have
// different ids.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, faults, models, picture, play, say, settled, work } from "./support.mjs";

const BEFORE = 'fn main() {\n    let name = "before";\n}\n';
const NOTE = "See the note[^1].\n\n[^1]: The note.";
const STEPS = [
  { tool: "read", arguments: { file_path: "main.rs" } },
  { tool: "edit", arguments: { file_path: "main.rs", old_string: '"before"', new_string: '"after"' } },
  { text: NOTE },
];

await play(async (stage, serve) => {
  const provider = await models(["m"], (_, messages) => {
    const last = messages.findLastIndex(({ role }) => role === "user");
    return STEPS[messages.slice(last).filter(({ role }) => role === "tool").length];
  });
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "light"],
    ["desktop", DESKTOP, "dark"],
  ]) {
    mkdirSync(work, { recursive: true });
    writeFileSync(join(work, "main.rs"), BEFORE);
    const server = await serve(null, { model: "here/m", permissions: "yolo" });
    const page = await stage.enter(server, size, { colorScheme });
    await say(page, "go");
    await page.locator(".footnote").waitFor();
    await settled(page);
    await page.locator(".tool").last().evaluate((tool) => (tool.open = true));
    const diff = page.locator(".diff");
    await diff.locator(".add .s-keyword", { hasText: "let" }).waitFor();
    await diff.locator(".del .s-keyword", { hasText: "let" }).waitFor();
    const line = (kind) =>
      diff.locator(`.${kind} .text`).evaluate((body) => ({
        text: body.textContent,
        marked: [...body.querySelectorAll("mark")].map(({ textContent }) => textContent).join(""),
      }));
    assert.deepEqual(await line("del"), { text: '    let name = "before";', marked: "before" });
    assert.deepEqual(await line("add"), { text: '    let name = "after";', marked: "after" });
    assert.equal(await diff.locator(".same .s-keyword").first().textContent(), "fn");
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-diff`);

    // The second answer with the same text.
    await say(page, "again");
    await page.locator(".footnote").nth(1).waitFor();
    const ids = await page.locator(".footnote").evaluateAll((notes) => notes.map(({ id }) => id));
    assert.equal(new Set(ids).size, 2, `${ids}`);
    const links = await page.locator("sup a").evaluateAll((links) => links.map(({ hash }) => hash.slice(1)));
    assert.deepEqual(links, ids);
    await page.context().close();
  }
  provider.close();
});
