// The card that asks for permission: all of the command or the file and its diff, and an answer for each duration.

import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, faults, models, picture, play, ready, say, settled, work } from "./support.mjs";

const LONG = `printf '%s' ${Array.from({ length: 60 }, (_, number) => `word${number}`).join(" ")}; echo last > tail.txt`;
/** The steps of the model, by the number of results. Each page has its own `place`, so that its saved rule does not allow the
    calls of another page. */
const steps = (place) => [
  { tool: "bash", arguments: { command: LONG } },
  { tool: "write", arguments: { file_path: "src/deep/folder/notes.txt", content: "one\ntwo\n" } },
  { tool: "bash", arguments: { command: "echo refused > no.txt" } },
  { tool: "bash", arguments: { command: `touch '${place}.txt'` } },
  { text: "Done." },
];

await play(async (stage, serve) => {
  let place = "";
  const provider = await models(["m"], (_, messages) => {
    const last = messages.findLastIndex(({ role }) => role === "user");
    return steps(place)[messages.slice(last).filter(({ role }) => role === "tool").length];
  });
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "light"],
    ["desktop", DESKTOP, "dark"],
  ]) {
    place = name;
    rmSync(join(work, "src"), { recursive: true, force: true });
    const server = await serve(null, { model: "here/m" });
    const page = await stage.enter(server, size, { colorScheme });
    await say(page, "go");
    const card = page.locator(".ask");
    const press = (label) => card.getByRole("button", { name: label, exact: true }).click();

    // The command is complete: nothing is cut at the side, and the buttons come after its end.
    await card.getByText("echo last > tail.txt").waitFor();
    const shown = await card.evaluate((card) => {
      const command = card.querySelector("pre");
      const range = document.createRange();
      range.selectNodeContents(command);
      const button = [...card.querySelectorAll("button")].find(({ textContent }) => textContent === "Allow once");
      return {
        wide: [card, ...card.querySelectorAll("*")].some((node) => node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0 && getComputedStyle(node).overflowX !== "visible"),
        after: button.getBoundingClientRect().top >= range.getBoundingClientRect().bottom,
        tall: command.scrollHeight > command.clientHeight,
        modal: document.querySelector("dialog[open]") !== null,
        text: command.textContent,
      };
    });
    assert.deepEqual(shown, { wide: false, after: true, tall: false, modal: false, text: `$ ${LONG}` });
    assert.deepEqual(await card.getByRole("button").allInnerTexts(), [
      "",
      "Allow once",
      "Allow for this session",
      "Allow for this project",
      "Refuse",
    ]);
    assert.equal(await page.locator(".tool .verb").last().textContent(), "Wants to run");
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-permission-command`);
    await press("Allow once");

    // A new file is named first.
    await card.locator(".path", { hasText: "src/deep/folder/notes.txt" }).waitFor();
    assert.deepEqual(await card.locator(".diff .add .text").allInnerTexts(), ["one", "two"]);
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-permission-file`);
    await press("Allow for this session");

    await card.getByText("echo refused > no.txt").waitFor();
    await card.getByLabel("Reason").fill("not here");
    await press("Refuse");

    await card.getByText(`touch '${name}.txt'`).waitFor();
    await press("Allow for this project");
    await page.locator(".answer", { hasText: "Done." }).waitFor();
    await settled(page);
    assert.equal(readFileSync(join(work, "tail.txt"), "utf8"), "last\n");
    assert.ok(!existsSync(join(work, "no.txt")));

    const verbs = () => page.locator(".tool .verb").allTextContents();
    const expected = ["Ran", "Wrote", "Did not run", "Ran"];
    assert.deepEqual(await verbs(), expected);
    const refused = page.locator(".tool", { hasText: "Did not run" });
    assert.match(await refused.locator("summary").textContent(), /refused/);
    await refused.locator("summary").click();
    await refused.getByText("not here").waitFor();
    await picture(page, `${name}-refused`);
    await page.reload();
    await ready(page);
    await page.locator(".answer", { hasText: "Done." }).waitFor();
    assert.deepEqual(await verbs(), expected);
    await page.context().close();
    await server.stop();
  }
  provider.close();

  // A double click answers one of two questions: the second card accepts no answer before it could be read.
  const pair = [{ tool: "bash", arguments: { command: "touch one" } }, { tool: "bash", arguments: { command: "touch two" } }];
  const page = await stage.enter(await serve([{ when: { user: "go" }, steps: pair }, { repeat: true, steps: [{ text: "Done." }] }]), DESKTOP);
  await say(page, "go");
  const card = page.locator(".ask");
  await card.getByText("$ touch one").waitFor();
  await card.getByRole("button", { name: "Allow once" }).dblclick();
  await card.getByText("$ touch two").waitFor();
  await card.getByRole("button", { name: "Refuse", exact: true }).click();
  await page.locator(".answer", { hasText: "Done." }).waitFor();
  assert.deepEqual([existsSync(join(work, "one")), existsSync(join(work, "two"))], [true, false]);

  // No call of an answer runs before the user has answered all, and no card looks as if its call did. A refused call says so at once.
  const three = ["three", "four", "five"].map((name) => ({ tool: "bash", arguments: { command: `touch ${name}` } }));
  const many = await stage.enter(await serve([{ when: { user: "go" }, steps: three }, { repeat: true, steps: [{ text: "Done." }] }]), DESKTOP);
  await say(many, "go");
  const verbs = () => many.locator(".tool .verb").allTextContents();
  const focus = (label) => many.waitForFunction((label) => document.activeElement.textContent === label, label);
  await many.locator(".ask").getByText("$ touch three").waitFor();
  assert.deepEqual(await verbs(), ["Wants to run", "Wants to run", "Wants to run"]);
  await many.getByRole("button", { name: "Refuse", exact: true }).click();
  await many.locator(".ask").getByText("$ touch four").waitFor();
  assert.deepEqual(await verbs(), ["Did not run", "Wants to run", "Wants to run"]);

  // Text that is typed while a card has the focus is a message. A space in it presses no button.
  await focus("Allow once");
  await many.keyboard.type("no stop that");
  assert.equal(await many.inputValue("#prompt"), "no stop that");
  assert.ok(!existsSync(join(work, "four")));
  await many.fill("#prompt", "");
  await many.locator(".ask").getByRole("button", { name: "Allow once" }).click();
  await many.locator(".ask").getByText("$ touch five").waitFor();
  await many.locator(".ask").getByRole("button", { name: "Allow once" }).click();
  await many.locator(".answer", { hasText: "Done." }).waitFor();
  assert.deepEqual(await verbs(), ["Did not run", "Ran", "Ran"]);
  await many.context().close();
});
