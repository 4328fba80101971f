// A very long answer is shown in pieces, with all of its text, while the page stays responsive.

import assert from "node:assert/strict";
import { DESKTOP, models, play, ready, say, settled } from "./support.mjs";

const PARAGRAPHS = 6000;
const TEXT = Array.from({ length: PARAGRAPHS }, (_, number) =>
  number % 100 === 0
    ? `\`\`\`js\nconst part = ${number};\n\nconst next = 1;\n\`\`\``
    : `**Paragraph ${number}** ${"of a long answer ".repeat(6)}`,
).join("\n\n");

await play(async (stage, serve) => {
  const provider = await models(["m"], () => ({ text: TEXT }));
  const server = await serve(null, { model: "here/m" });
  const page = await stage.enter(server, DESKTOP);
  await say(page, "go");
  await settled(page);
  await page.locator(".piece").first().waitFor();
  // A screen reader hears how it begins, although the page shows its end.
  await page.waitForFunction(() => /^osier: .*const part = 0;.*Paragraph 1\b/s.test(document.querySelector("#announcer").textContent));
  await page.reload();
  await ready(page);
  await page.locator(".piece").first().waitFor();
  await page.waitForFunction(() => !document.querySelector(".piece.output"));
  const shown = await page.evaluate(() => ({
    pieces: document.querySelectorAll(".piece").length > 20,
    bold: document.querySelectorAll(".answer .piece strong").length,
    code: document.querySelectorAll(".answer .piece .code").length,
    last: document.querySelector(".piece:last-child").textContent.includes("Paragraph 5999"),
  }));
  const code = PARAGRAPHS / 100;
  assert.deepEqual(shown, { pieces: true, bold: PARAGRAPHS - code, code, last: true });
  // Each retry and copy is in reach.
  await page.locator(".answer").getByRole("button", { name: "Retry" }).waitFor();
  provider.close();
});
