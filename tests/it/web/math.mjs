// Formulas in answers: inline, on lines of their own, too wide for a phone; prices stay text.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, faults, picture, play, say, settled } from "./support.mjs";

const WIDE = String.raw`\sum_{i=1}^{n} \begin{pmatrix} a_i & b_i \\ c_i & d_i \end{pmatrix} = ` + "\\alpha_i + ".repeat(30);
const ANSWER = [
  String.raw`The roots of \(ax^2 + bx + c = 0\) are`,
  String.raw`\[ x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a} \]`,
  `and the sum is $$${WIDE}1$$`,
  "It costs $5 and $10, and `\\(code\\)` stays code.",
].join("\n\n");

await play(async (stage, serve) => {
  const server = await serve([{ repeat: true, steps: [{ text: ANSWER }] }]);
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "dark"],
    ["desktop", DESKTOP, "light"],
  ]) {
    const page = await stage.enter(server, size, { colorScheme });
    await say(page, "Show me formulas");
    await page.locator(".answer math[display=block]").nth(1).waitFor();
    await settled(page);
    const answer = page.locator(".answer").last();
    assert.equal(await answer.locator("math").count(), 3);
    assert.equal(await answer.locator("math annotation").first().textContent(), "ax^2 + bx + c = 0");
    const costs = await answer.getByText("It costs").textContent();
    assert.equal(costs, String.raw`It costs $5 and $10, and \(code\) stays code.`);
    // A wide formula scrolls in its own line; the page does not.
    const hidden = (selector) => page.evaluate((selector) => {
      const node = [...document.querySelectorAll(selector)].at(-1);
      return node.scrollWidth - node.clientWidth;
    }, selector);
    assert.equal(await hidden("html"), 0);
    if (size === PHONE) assert.ok((await hidden(".answer .formula")) > 0);
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-math`);
    await page.context().close();
  }
});
