// Comparisons: the last prompt on several models, applying one of them; two branches of a session.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, faults, models, picture, play, say, settled, work } from "./support.mjs";

const PLAN = "## A plan\n\n1. Read the file\n2. Change it\n\n```js\nconst plan = true;\n```";

/** Makes a binary file and one whose diff is too large, and removes a line that begins like a header of a diff. */
const OTHER_FILES = "printf 'a\\0' > data.bin; seq 1 20000 > numbers.txt; sed -i 1d query.sql";

/** Opens the diff of a file and returns its text. */
async function diffOf(lane, name) {
  const file = lane.locator(".change", { hasText: name });
  await file.locator("summary").click();
  const body = file.locator(".change-body");
  await body.locator(".diff, .hint").first().waitFor();
  return {
    removed: await body.locator(".del .text").allInnerTexts(),
    added: (await body.locator(".add .text").allInnerTexts()).slice(0, 3),
    hints: await body.locator(".hint").allInnerTexts(),
  };
}

/** The answers of the models: `quick` sends text, `careful` writes a file, `broken` fails. */
function answers(model, messages) {
  const last = messages.at(-1);
  if (model === "broken") return { status: 400, error: "this model is out of order" };
  if (model === "quick") return { text: PLAN };
  const results = messages.slice(messages.findLastIndex(({ role }) => role === "user")).filter(({ role }) => role === "tool");
  if (results.length === 1) return { tool: "bash", arguments: { command: OTHER_FILES } };
  if (last.role === "tool") return { text: "I have **written** it down." };
  return { tool: "write", arguments: { file_path: "plan.md", content: "one\ntwo\n" } };
}

await play(async (stage, serve) => {
  const home = await models(["quick", "careful", "broken"], answers);
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "dark"],
    ["desktop", DESKTOP, "light"],
  ]) {
    for (const made of ["plan.md", "data.bin", "numbers.txt"]) rmSync(join(work, made), { force: true });
    mkdirSync(work, { recursive: true });
    writeFileSync(join(work, "query.sql"), "-- old\nselect 1;\n");
    const server = await serve(null, { model: "here/quick", permissions: "yolo" });
    const page = await stage.enter(server, size, { colorScheme, reducedMotion: "reduce" });
    await say(page, `make a plan, on a ${name}`);
    await page.locator(".answer", { hasText: "A plan" }).waitFor();
    await settled(page);

    // The last prompt is sent to three models.
    await page.locator(".answer").last().getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Run several models" }).click();
    const dialog = page.locator("dialog.question");
    const ask = dialog.getByRole("button", { name: "Run" });
    assert.equal(await ask.isDisabled(), true, "one is not several");
    await dialog.getByLabel("Search models").fill("careful");
    await dialog.getByRole("checkbox", { name: /careful/ }).check();
    await dialog.getByLabel("Search models").fill("broken");
    await dialog.getByRole("checkbox", { name: /broken/ }).check();
    await dialog.getByText("3 models will run").waitFor();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-models`);
    await ask.click();

    const board = page.locator("dialog.board");
    const lane = (model) => board.getByRole("article", { name: `here/${model}` });
    const take = lane("careful").getByRole("button", { name: /^Accept/ });
    await take.waitFor();
    assert.match(await lane("broken").innerText(), /Failed[\s\S]*out of order/);
    assert.equal(await lane("broken").getByRole("button").count(), 0);
    assert.equal(await lane("quick").locator("ol li").count(), 2, "answers are laid out");
    assert.match(await lane("careful").innerText(), /plan\.md[\s\S]*\+2/);
    assert.deepEqual(await diffOf(lane("careful"), "plan.md"), { removed: [], added: ["one", "two"], hints: [] });
    assert.deepEqual(await diffOf(lane("careful"), "data.bin"), { removed: [], added: [], hints: ["Binary, or too large to show."] });
    assert.deepEqual(await diffOf(lane("careful"), "query.sql"), { removed: ["-- old"], added: [], hints: [] });
    assert.equal(existsSync(join(work, "plan.md")), false, "each works in a copy of the files");
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-compared`);

    // After the dialog is closed, a line above the prompt editor reopens it.
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Compare 3 answers" }).waitFor();
    // A reloaded page shows the lanes, too.
    await page.reload();
    await page.getByRole("button", { name: "Compare 3 answers" }).click();
    assert.match(await lane("broken").innerText(), /Failed[\s\S]*out of order/);
    await take.click();
    await board.waitFor({ state: "detached" });
    await page.locator(".answer", { hasText: "I have written it down." }).waitFor();
    assert.equal(readFileSync(join(work, "plan.md"), "utf8"), "one\ntwo\n");

    // The other lanes are branches and can be compared with the current branch.
    const siblings = page.locator(".user .siblings");
    await siblings.getByText(/of \d/).waitFor();
    await page.locator(".user").getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Compare branches" }).click();
    await board.getByRole("article", { name: /current/ }).getByText("written").waitFor();
    const current = board.getByRole("article", { name: /current/ });
    assert.deepEqual(await diffOf(current, "plan.md"), { removed: [], added: ["one", "two"], hints: [] });
    assert.deepEqual(await diffOf(current, "numbers.txt"), {
      removed: [],
      added: ["1", "2", "3"],
      hints: ["Too large to show completely."],
    });
    const numbers = current.locator(".change", { hasText: "numbers.txt" });
    assert.equal(await numbers.locator(".plus").first().innerText(), "+20000", "lines that are not shown are counted");
    assert.deepEqual(await diffOf(current, "data.bin"), { removed: [], added: [], hints: ["Binary, or too large to show."] });
    while ((await board.getByRole("article").getByText("A plan").count()) === 0)
      await board.getByRole("button", { name: /^Compare with branch/ }).click();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-branches-compared`);
    await board.getByRole("button", { name: /^Switch to this branch/ }).click();
    await page.locator(".answer", { hasText: "A plan" }).waitFor();
    await page.context().close();
    await server.stop();
  }
  home.close();
  stage.faults = stage.faults.filter((fault) => !/Failed to load resource|WebSocket/.test(fault));
});
