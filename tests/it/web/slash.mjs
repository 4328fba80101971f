// Slash commands of the terminal work in the chat or say why not; the first run says that it is a demo.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, faults, picture, play, ready, say, settled } from "./support.mjs";

const TURNS = [{ repeat: true, steps: [{ text: "An answer." }] }];

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const page = await stage.enter(server, DESKTOP);
  await say(page, "hello");
  await page.locator(".answer", { hasText: "An answer." }).waitFor();
  await settled(page);
  const toast = (text) => page.locator(".toast", { hasText: text }).waitFor();

  await say(page, "/permissions plan");
  await page.locator(".chip-button.mode", { hasText: "Plan" }).waitFor();
  await say(page, "/name My session");
  await page.locator("#title", { hasText: "My session" }).waitFor();
  await say(page, "/tools");
  await toast("Tools: read, write");
  await say(page, "/cost now");
  await toast("unknown period now; expected one of session, all, today");
  await say(page, "/export out.md");
  await toast("Exported to");
  await say(page, "/settings");
  await toast("/settings works in the terminal: osier attach opens this session there");
  await say(page, "/compact");
  await page.locator(".toast, .summary").filter({ hasText: /compact|summar/i }).first().waitFor();
  await say(page, "/Compact now");
  await toast("unknown command /Compact; did you mean /compact?");
  assert.equal(await page.inputValue("#prompt"), "/Compact now");
  await say(page, "/nosuch");
  await toast("unknown command /nosuch; type / to list the commands");
  // Nothing went to the model, and a toast covers no answer.
  assert.deepEqual(await page.locator(".prompt-text").allTextContents(), ["hello"]);
  const [lowest, toasts] = await page.evaluate(() => [
    document.querySelector("#scroller").getBoundingClientRect().bottom,
    document.querySelector("#toasts").getBoundingClientRect().top,
  ]);
  assert.ok(toasts >= lowest, `${toasts} is below ${lowest}`);
  await page.fill("#prompt", "/mod");
  await page.getByRole("option", { name: /^\/model/ }).waitFor();
  await page.fill("#prompt", "");

  const demo = await serve(null, { model: "demo/tour" });
  for (const [name, size] of [["phone", PHONE], ["desktop", DESKTOP]]) {
    const first = await stage.enter(demo, size, { colorScheme: "dark" });
    await first.goto(new URL("/", demo.url).href);
    await ready(first);
    await first.getByText("This is a scripted demo").waitFor();
    assert.deepEqual(await faults(first), []);
    await picture(first, `${name}-demo`);
    await first.locator(".demo").getByRole("button", { name: "Sign in" }).click();
    await first.getByRole("dialog", { name: "Sign in" }).locator(".account").first().waitFor();
    await first.context().close();
  }

  const empty = await serve(null, { model: null });
  const first = await stage.enter(empty, PHONE);
  await first.getByText("No model is set up yet").waitFor();
  await first.locator(".demo").getByRole("button", { name: "Sign in" }).click();
  await first.getByRole("dialog", { name: "Sign in" }).locator(".account").first().waitFor();
});
