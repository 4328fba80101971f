// Accessibility: axe in both colour schemes and sizes, everything by keyboard, reduced motion, and the login page.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, faults, file, picture, play, ready, say, settled } from "./support.mjs";

const DONE =
  '# Done\n\nA list:\n\n- [x] one\n- `two`\n\n```js\nconst three = "3"; // four\n```\n\n| a | b |\n|---|---|\n| 1 | [2](https://a.example) |\n\n> [!WARNING]\n> Mind.';
const TURNS = [
  { when: { toolResult: "a.txt" }, repeat: true, steps: [{ text: DONE }] },
  // The model has read the file, so it can write it.
  {
    when: { toolResult: "a line" },
    repeat: true,
    steps: [{ text: "I do." }, { tool: "write", arguments: { file_path: "a.txt", content: "a line, new\n" } }],
  },
  { repeat: true, steps: [{ thinking: "Hm." }, { tool: "read", arguments: { path: "a.txt" } }] },
];

await play(async (stage, serve) => {
  file("a.txt", "a line\n");
  const server = await serve(TURNS);
  for (const size of [PHONE, DESKTOP]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await stage.enter(server, size, { colorScheme, reducedMotion: "reduce" });
      const look = async (place) =>
        assert.deepEqual(await faults(page), [], `${place}, ${colorScheme}, ${size.viewport.width}`);
      await page.goto(new URL("/", page.url()).href);
      await ready(page);
      if ((await page.locator(".answer").count()) === 0) {
        await look("start");
        await say(page, "change it");
        await page.locator(".ask").waitFor();
        await look("question");
        await page.getByRole("button", { name: "Allow once" }).click();
      }
      await page.locator(".prose table").waitFor();
      await settled(page);
      await look("conversation");
      await page.locator(".answer").last().getByRole("button", { name: "More actions" }).click();
      await look("menu");
      await page.keyboard.press("Escape");
      await page.click("#open-drawer");
      await page.locator(".window-bar").waitFor();
      await look("drawer");
      if (size === PHONE) {
        await page.keyboard.press("Escape");
        await page.click("#open-side");
        await look("sessions");
      }
      const moving = await page.evaluate(
        () => document.getAnimations().filter(({ playState }) => playState === "running").length,
      );
      assert.equal(moving, 0, "nothing moves for those who do not want it");
      await page.context().close();
    }
  }

  // By keyboard only, from the URL to the answer.
  const page = await stage.enter(server, DESKTOP);
  await page.waitForFunction(() => document.activeElement.id === "prompt");
  await page.getByRole("button", { name: "New session" }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".start").waitFor();
  await page.waitForFunction(() => document.activeElement.id === "prompt");
  await page.keyboard.type("change it by keys");
  await page.keyboard.press("Enter");
  await page.locator(".ask").waitFor();
  // The card gets the focus after the time that is needed to read it.
  await page.waitForFunction(() => document.activeElement.textContent === "Allow once");
  // The card is collapsed: the question is still pending, and the card can be opened again.
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Answer:/ }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".ask").waitFor();
  await page.waitForFunction(() => document.activeElement.textContent === "Allow once");
  await page.keyboard.press("Enter");
  await page.locator(".prose table").waitFor();
  await settled(page);
  await page.waitForFunction(() => /osier: .*Done/s.test(document.querySelector("#announcer").textContent));
  await page.locator("#side .session").nth(1).waitFor();
  await picture(page, "desktop-sessions");
  await page.context().close();

  // Without the token, a login page is shown.
  const stranger = await stage.page(PHONE);
  await stranger.goto(new URL("/", server.url).href);
  await stranger.getByLabel("Token").fill("wrong-token-of-some-length");
  await stranger.getByRole("button", { name: "Sign in" }).click();
  await stranger.getByText("Wrong token.").waitFor();
  assert.deepEqual(await faults(stranger), []);
  await picture(stranger, "phone-login");
  await stranger.getByLabel("Token").fill(server.token);
  await stranger.getByRole("button", { name: "Sign in" }).click();
  await ready(stranger);
  assert.equal(await stranger.evaluate(() => document.cookie), "", "no script reads the cookie");
  stage.faults = stage.faults.filter((fault) => !/401/.test(fault));
});
