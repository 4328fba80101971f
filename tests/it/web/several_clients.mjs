// Two clients of one session: one writes, the other sees who, takes over, and either can stop the run.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, faults, picture, play, ready, say, settled } from "./support.mjs";

const TURNS = [
  { when: { user: "slow" }, repeat: true, steps: [{ text: "It has begun." }, { wait: 3_600_000 }] },
  { repeat: true, steps: [{ text: "A short answer." }] },
];

await play(async (stage, serve) => {
  const server = await serve(TURNS);
  const one = await stage.enter(server, DESKTOP, { colorScheme: "light", reducedMotion: "reduce" });
  assert.equal(await one.locator("#company").isVisible(), false, "one that is alone hears of nobody");
  const two = await stage.page(PHONE, { colorScheme: "dark", reducedMotion: "reduce" });
  await two.goto(one.url().replace(/\?.*/, "") + new URL(server.url).hash);
  await ready(two);
  const words = (page) => page.locator("#company [role=status]");
  const shows = (page, text) => words(page).getByText(text, { exact: true }).waitFor();
  await shows(one, "2 here");
  await shows(two, "2 here");

  await say(one, "slow");
  await shows(one, "2 here · you write");
  await shows(two, "2 here · browser on Linux writes");
  await two.locator(".answer", { hasText: "It has begun." }).waitFor();
  assert.deepEqual(await faults(two), []);
  await picture(two, "phone-company");
  await picture(one, "desktop-company");

  // The draft stays in the editor.
  await say(two, "of the other");
  await two.locator(".toast", { hasText: "browser on Linux writes here" }).waitFor();
  assert.equal(await two.inputValue("#prompt"), "of the other");
  // A reloaded page shows it, too.
  await two.reload();
  await ready(two);
  await shows(two, "2 here · browser on Linux writes");
  await two.getByRole("button", { name: "Take over" }).press("Enter");
  await shows(two, "2 here · you write");
  assert.equal(await two.evaluate(() => document.activeElement.id), "prompt");
  await one.locator(".toast", { hasText: "browser on Linux 2 has taken over" }).waitFor();
  await one.getByRole("button", { name: "Take over" }).waitFor();
  assert.deepEqual(await faults(one), []);
  await say(two, "of the other");
  await one.locator(".queued", { hasText: "of the other" }).waitFor();

  await one.locator(".stop").click();
  await two.locator(".toast", { hasText: "browser on Linux has stopped it" }).waitFor();
  await settled(two);
  await two.context().close();
  await one.locator("#company").waitFor({ state: "hidden" });
});
