// A long session: its end shows at once, earlier messages load while scrolling, and the visible part does not move. Only the
// messages near the window are in the page, but copying and the search of the browser reach all that were loaded.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, play, ready } from "./support.mjs";

const PROMPTS = 150;
const STEP = 500;
const TURNS = [{ repeat: true, steps: [{ text: "A line.\n\n- one\n- two\n\n```js\nconst code = 1;\n```\n\nAnother line." }] }];
/** The maximum number of messages in the page: those near the window. */
const MOST = 60;

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
    await atEnd(page);

    // Scrolls up to the first message.
    const seen = new Set();
    for (let isFirst = false; !isFirst; ) {
      await rendered(page);
      const { prompts, top, middle, count } = await view(page);
      for (const prompt of prompts) seen.add(prompt);
      assert.ok(count <= MOST, `${count} messages are in the page`);
      isFirst = top === 0 && prompts[0] === "prompt 1.";
      const moved = await scroll(page, -STEP, middle);
      assert.ok(Math.abs(moved - Math.min(STEP, top)) <= 2, `${middle} moved ${moved} px instead of ${Math.min(STEP, top)}`);
    }
    assert.deepEqual([...seen].sort(), Array.from({ length: PROMPTS }, (_, place) => `prompt ${place + 1}.`).sort());
    assert.equal(await page.locator("#transcript > .earlier").count(), 0);

    // The search of the browser begins: it can find all messages. After the search, far messages leave the page again.
    await page.locator("#transcript").press("Control+f");
    assert.equal(await page.locator(".prompt-text").count(), PROMPTS);
    await page.locator("#transcript").dispatchEvent("pointerdown");
    assert.ok((await view(page)).count <= MOST);

    // On a phone, only the text of one message can be selected.
    if (size === DESKTOP) assert.equal(await copied(page), PROMPTS);

    await page.getByRole("button", { name: "Latest" }).click();
    await atEnd(page);
    await page.context().close();
  }
});

/** The number of prompts in a copy of the conversation. */
function copied(page) {
  return page.evaluate(() => {
    getSelection().selectAllChildren(document.querySelector("#transcript"));
    document.execCommand("copy");
    const text = getSelection().toString();
    getSelection().removeAllRanges();
    return text.match(/prompt \d+\./g).length;
  });
}

/** Waits until the end of the last answer is in the window. */
function atEnd(page) {
  return page.waitForFunction((text) => {
    const { bottom } = document.querySelector("#scroller").getBoundingClientRect();
    const prompt = [...document.querySelectorAll(".prompt-text")].find((node) => node.textContent === text);
    const answer = prompt?.closest(".message").nextElementSibling;
    return answer?.querySelector(".block:last-child") && answer.getBoundingClientRect().bottom <= bottom;
  }, `prompt ${PROMPTS}.`);
}

/** Waits until the texts near the window are rendered, and earlier messages are there. */
function rendered(page) {
  return page.waitForFunction(() => {
    const texts = [...document.querySelectorAll(".answer .prose")];
    const first = document.querySelector(".prompt-text")?.textContent;
    const button = document.querySelector("#transcript > .earlier");
    const isFar = button && button.getBoundingClientRect().top < -3000;
    return texts.every((text) => text.querySelector(".block")) && (isFar || !button) && first;
  });
}

/** The prompts of the window, its distance from the top, the answer in the middle, and the number of messages in the page. */
function view(page) {
  return page.evaluate(() => {
    const scroller = document.querySelector("#scroller");
    const { top, bottom, left, right } = scroller.getBoundingClientRect();
    const isIn = (node) => node.getBoundingClientRect().bottom > top && node.getBoundingClientRect().top < bottom;
    const messages = [...document.querySelectorAll("#transcript .message")];
    const inWindow = messages.filter(isIn);
    return {
      prompts: inWindow.map((node) => node.querySelector(".prompt-text")?.textContent).filter(Boolean),
      top: scroller.scrollTop,
      middle: inWindow[inWindow.length >> 1].dataset.key,
      count: messages.length,
    };
  });
}

/** Scrolls, and returns how far a message has moved in the window two frames later. */
function scroll(page, distance, key) {
  return page.evaluate(
    async ([distance, key]) => {
      const place = () => document.querySelector(`.message[data-key="${key}"]`).getBoundingClientRect().top;
      const before = place();
      const scroller = document.querySelector("#scroller");
      // The scroll is the user's, also if the size of the content changes in the same frame.
      scroller.dispatchEvent(new WheelEvent("wheel", { bubbles: true, deltaY: distance }));
      scroller.scrollTop += distance;
      for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
      return place() - before;
    },
    [distance, key],
  );
}
