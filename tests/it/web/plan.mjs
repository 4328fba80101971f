// Plan mode: the plan is shown formatted, edited, approved with a mode, and refused with a reason.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, faults, picture, play, say, settled, work } from "./support.mjs";

const PLAN = "# Add a file\n\n1. **Write** `a.txt`\n";
const TURNS = [
  { when: { toolResult: "keep planning" }, repeat: true, steps: [{ tool: "exit_plan_mode", arguments: { plan: PLAN } }] },
  {
    when: { toolResult: "approved the plan with changes" },
    repeat: true,
    steps: [{ tool: "write", arguments: { file_path: "a.txt", content: "planned\n" } }],
  },
  { when: { toolResult: "" }, repeat: true, steps: [{ text: "It is done." }] },
  { repeat: true, steps: [{ tool: "exit_plan_mode", arguments: { plan: PLAN } }] },
];

await play(async (stage, serve) => {
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "dark"],
    ["desktop", DESKTOP, "light"],
  ]) {
    const server = await serve(TURNS, { permissions: "plan" });
    const page = await stage.enter(server, size, { colorScheme, reducedMotion: "reduce" });
    await say(page, "add a file");
    const dialog = page.locator(".ask");
    await dialog.getByText("Approve this plan?").waitFor();
    // The server has formatted the plan.
    await dialog.locator(".plan strong", { hasText: "Write" }).waitFor();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-plan`);
    await dialog.getByLabel("Reason").fill("name the test");
    await dialog.getByRole("button", { name: "Keep planning" }).click();
    // The model presents the plan again.
    await page.waitForFunction(
      () => document.querySelector(".ask input[aria-label=Reason]")?.value === "",
    );
    await dialog.getByText("Edit the plan").click();
    assert.deepEqual(await faults(page), []);
    await dialog.getByRole("textbox", { name: "Plan" }).fill("# Add a file\n\n1. Test it\n");
    await dialog.getByLabel("Continue in mode").selectOption("yolo");
    await dialog.getByRole("button", { name: "Approve" }).click();
    await page.locator(".answer", { hasText: "It is done." }).waitFor();
    await settled(page);
    assert.equal(readFileSync(join(work, "a.txt"), "utf8"), "planned\n");
    await page.context().close();
    await server.stop();
  }
});
