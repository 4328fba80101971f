// A subagent: the row of its call, its conversation, a message to it, and its stop.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, faults, models, picture, play, say, setting, settled, work } from "./support.mjs";

const waits = (name) => `until [ -e ${name} ]; do sleep 0.02; done; echo '${name} is here'`;

const textOf = ({ content }) =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("");

/** The main model starts a subagent, which waits for a file that its task names. */
function answers(_, messages) {
  const last = messages.at(-1);
  const said = messages.filter(({ role }) => role === "user").map(textOf);
  if (textOf(messages[0]).startsWith("You are a subagent")) {
    if (last.role !== "tool" && !said.includes("also the folders"))
      return { tool: "bash", arguments: { command: waits(said[0].split(" ").at(-1)) } };
    return { text: said.includes("also the folders") ? "Both are **counted**." : "Only the files." };
  }
  if (last.role === "tool") return { text: `The main model got: ${textOf(last)}` };
  return { tool: "task", arguments: { prompt: `wait for ${said.findLast((text) => text.startsWith("start ")).slice(6)}` } };
}

await play(async (stage, serve) => {
  const home = await models(["mock"], answers);
  mkdirSync(work, { recursive: true });
  setting("settings.toml", "discover_local_models = false\ndescribe_environment = false\nsubagents = true\n");
  for (const [name, size] of [
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ]) {
    const server = await serve(null, { model: "here/mock", permissions: "yolo", keepSettings: true });
    const page = await stage.enter(server, size, { reducedMotion: "reduce" });
    await say(page, `start ${name}-steered`);
    const row = page.locator("#transcript .tool").first();
    await row.getByText("running until").waitFor();
    assert.match(await row.locator(".facts").textContent(), /^agent1running/);
    await row.locator("summary").click();
    const dialog = page.locator("dialog.subagent");
    await dialog.getByText(`wait for ${name}-steered`).waitFor();
    assert.match(await dialog.locator("header").innerText(), /agent1[\s\S]*running/);
    await dialog.getByLabel("Message to the subagent").fill("also the folders");
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByText("Steering: also the folders").waitFor();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-subagent`);
    writeFileSync(join(work, `${name}-steered`), "");
    await dialog.locator("strong", { hasText: "counted" }).waitFor();
    await dialog.locator("header").getByText("done").waitFor();
    assert.equal(await dialog.getByRole("button", { name: "Stop" }).count(), 0);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("The main model got: Both are").waitFor();
    await settled(page);

    // A second one goes to the background, and is stopped there.
    await say(page, `start ${name}-stopped`);
    const second = page.locator("#transcript .tool").nth(1);
    await second.getByText("running until").waitFor();
    await second.locator("summary").click();
    await dialog.getByRole("button", { name: "Send to background" }).click();
    await dialog.locator("header").getByText("in the background").waitFor();
    await dialog.getByRole("button", { name: "Stop" }).click();
    await dialog.locator("header").getByText("stopped").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("The main model got: The user moved agent2").waitFor();
    await settled(page);
    await picture(page, `${name}-subagents-ended`);
    await page.context().close();
    await server.stop();
  }
  home.close();
  stage.faults = stage.faults.filter((fault) => !/WebSocket/.test(fault));
});
