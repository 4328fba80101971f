// Two clients of one session: the second sees who has control, takes control, and both can stop the run.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, faults, picture, play, ready, say, settled } from "./support.mjs";

const TURNS = [
  { when: { user: "slow" }, repeat: true, steps: [{ text: "It has begun." }, { wait: 3_600_000 }] },
  { repeat: true, steps: [{ text: "A short answer." }] },
];

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const one = await stage.enter(server, DESKTOP, { colorScheme: "light", reducedMotion: "reduce" });
  assert.equal(await one.locator("#presence").isVisible(), false, "a single client shows nothing");
  const two = await stage.page(PHONE, { colorScheme: "dark", reducedMotion: "reduce" });
  await two.goto(one.url().replace(/\?.*/, "") + new URL(server.url).hash);
  await ready(two);
  const words = (page) => page.locator("#presence [role=status]");
  const shows = (page, text) => words(page).getByText(text, { exact: true }).waitFor();
  await shows(one, "2 connected");
  await shows(two, "2 connected");

  await say(one, "slow");
  await shows(one, "2 connected · you have control");
  await shows(two, "2 connected · browser on Linux has control");
  await two.locator(".answer", { hasText: "It has begun." }).waitFor();
  assert.deepEqual(await faults(two), []);
  await picture(two, "phone-presence");
  await picture(one, "desktop-presence");

  // The draft stays in the editor.
  await say(two, "of the other");
  await two.locator(".toast", { hasText: "browser on Linux has control" }).waitFor();
  assert.equal(await two.inputValue("#prompt"), "of the other");
  // A reloaded page shows the active writer, too.
  await two.reload();
  await ready(two);
  await shows(two, "2 connected · browser on Linux has control");
  await two.getByRole("button", { name: "Take control" }).press("Enter");
  await shows(two, "2 connected · you have control");
  assert.equal(await two.evaluate(() => document.activeElement.id), "prompt");
  await one.locator(".toast", { hasText: "browser on Linux 2 took control" }).waitFor();
  await one.getByRole("button", { name: "Take control" }).waitFor();
  assert.deepEqual(await faults(one), []);
  await say(two, "of the other");
  await one.locator(".queued", { hasText: "of the other" }).waitFor();

  await one.locator(".stop").click();
  await two.locator(".toast", { hasText: "browser on Linux stopped the run" }).waitFor();
  await settled(two);

  // One client closes the session. The other client shows that, and its next message opens the session again.
  await say(two, "/close");
  await one.locator(".toast", { hasText: "This session was closed." }).waitFor();
  await two.context().close();
  await one.locator("#presence").waitFor({ state: "hidden" });
  await say(one, "after the end");
  await one.locator(".answer", { hasText: "A short answer." }).waitFor();
  await settled(one);
  assert.equal(await one.locator(".prompt-text", { hasText: "after the end" }).count(), 1);
});
