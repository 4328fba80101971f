// A long session: its end shows at once, earlier messages load while scrolling, and the visible part does not move.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, play, ready } from "./support.mjs";

/** The text of the first prompt of the page. */
const first = (page) => page.locator(".user .prompt-text").first().textContent();

const PROMPTS = 150;
const TURNS = [{ repeat: true, steps: [{ text: "A line.\n\nAnother line." }] }];

await play(async (stage, serve) => {
  const server = await serve(TURNS, { permissions: "yolo" });
  const at = (path) => new URL(path, server.url);
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const post = (path, body) => fetch(at(path), { method: "POST", headers, body: JSON.stringify(body) });
  const { id } = await (await post("/api/sessions", {})).json();
  for (let number = 1; number <= PROMPTS; number++)
    await (await post(`/api/sessions/${id}/prompt`, { message: `prompt ${number}.` })).text();

  for (const size of [PHONE, DESKTOP]) {
    const page = await stage.page(size, { reducedMotion: "reduce" });
    await page.goto(server.url);
    await ready(page);
    await page.goto(at(`/?session=${id}`).href);
    await ready(page);
    const prompts = page.locator(".user .prompt-text");
    await page.getByText(`prompt ${PROMPTS}.`, { exact: true }).waitFor();
    const shown = await prompts.count();
    assert.ok(shown < PROMPTS, `${shown} at once`);
    assert.ok(await inSight(page, `prompt ${PROMPTS}.`), "it begins at the end");

    // Scrolls up to the first message.
    for (let last = shown; ; ) {
      const anchor = await first(page);
      await page.evaluate(() => (document.querySelector("#scroller").scrollTop = 300));
      // A page is added in several frames; the button for the next one is back at its end.
      await page.waitForFunction(
        ([before, all]) => {
          const now = document.querySelectorAll(".user .prompt-text").length;
          return now === all || (now > before && document.querySelector("#transcript > .earlier"));
        },
        [last, PROMPTS],
      );
      assert.ok(await inSight(page, anchor), `${anchor} has stayed where it was`);
      last = await prompts.count();
      if (last === PROMPTS) break;
    }
    assert.equal(await page.locator("#transcript > .earlier").count(), 0);
    const texts = await prompts.allTextContents();
    assert.deepEqual(
      texts,
      Array.from({ length: PROMPTS }, (_, place) => `prompt ${place + 1}.`),
    );
    await page.getByRole("button", { name: "Latest" }).click();
    await page.waitForFunction(() => document.querySelector("#to-end").hidden);
    assert.ok(await inSight(page, `prompt ${PROMPTS}.`));
    await page.context().close();
  }
});

/** Whether a prompt is visible or less than a screen away. */
function inSight(page, text) {
  return page.evaluate((text) => {
    const scroller = document.querySelector("#scroller").getBoundingClientRect();
    const node = [...document.querySelectorAll(".user .prompt-text")].find(({ textContent }) => textContent === text);
    const { top } = node.getBoundingClientRect();
    return top > scroller.top - scroller.height && top < scroller.bottom + scroller.height;
  }, text);
}
