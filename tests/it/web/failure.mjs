// A run that fails is shown under its prompt, also after a reload, with what helps: retry, another model, sign in.

import assert from "node:assert/strict";
import { DESKTOP, PHONE, faults, models, picture, play, ready, say, settled } from "./support.mjs";

await play(async (stage, serve) => {
  let broken = true;
  const reason = "the parameter `top_p` is not supported by this model";
  const provider = await models(["good", "bad"], (model) =>
    broken && model === "bad" ? { status: 400, error: reason } : { text: `An answer of ${model}.` },
  );
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "dark"],
    ["desktop", DESKTOP, "light"],
  ]) {
    broken = true;
    const server = await serve(null, { model: "here/bad" });
    const page = await stage.enter(server, size, { colorScheme });
    await say(page, "Hello?");
    const card = page.locator("#failure .failure");
    await card.waitFor();
    const check = async () => {
      assert.match(await card.locator(".reason").innerText(), /top_p/);
      assert.equal(await card.locator("h2").innerText(), "The run failed");
      assert.deepEqual(await card.getByRole("button").allInnerTexts(), ["Retry", "Change model", "Sign in"]);
    };
    await check();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-failure`);

    await page.reload();
    await ready(page);
    await card.waitFor();
    await check();

    // Sign in lists the providers, with the one that failed first.
    await card.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog", { name: "Sign in" }).locator(".account").first().waitFor();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-sign-in`);
    await page.keyboard.press("Escape");

    if (size === PHONE) {
      broken = false;
      await card.getByRole("button", { name: "Retry" }).click();
      await page.locator(".answer", { hasText: "An answer of bad." }).waitFor();
    } else {
      await card.getByRole("button", { name: "Change model" }).click();
      await page.getByRole("option", { name: /^good/ }).click();
      await page.locator(".chip-button.model", { hasText: "good" }).waitFor();
      await card.getByRole("button", { name: "Retry" }).click();
      await page.locator(".answer", { hasText: "An answer of good." }).waitFor();
    }
    await settled(page);
    await card.waitFor({ state: "detached" });
    assert.deepEqual(await page.locator(".prompt-text").allTextContents(), ["Hello?"], "one prompt, no second branch");
    await page.context().close();
    await server.stop();
  }
  provider.close();
});
