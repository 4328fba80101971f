// A complete conversation on a dark phone and a light desktop: thinking, tools, questions, a diff, an answer.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, file, picture, play, ready, say, settled, work } from "./support.mjs";

const SOURCE = "//! A tiny parser.\n\npub fn parse(text: &str) -> Option<u32> {\n    text.trim().parse().ok()\n}\n";
const EDIT = { old_string: "-> Option<u32> {", new_string: "-> Option<i64> {" };
const ANSWER =
  '## What changed\n\nThe parser now takes **negative** numbers:\n\n1. `parse` gives an `i64` in place of a `u32`\n2. nothing else\n\n```rust\npub fn parse(text: &str) -> Option<i64> {\n    text.trim().parse().ok() // spaces do not matter\n}\n```\n\n| input | before | now |\n|---|---|--:|\n| `"12"` | `Some(12)` | `Some(12)` |\n| `"-3"` | `None` | `Some(-3)` |\n\n> [!NOTE]\n> Callers that store the value as `u32` need a `try_into`.\n\nSee [the documentation](https://doc.rust-lang.org). Shall I add a test?';

const TURNS = [
  {
    when: { toolResult: "parse" },
    steps: [
      { text: "`parse` gives a `u32`, so a minus sign fails. I change the type:" },
      { tool: "edit", arguments: { file_path: "src/lib.rs", edits: [EDIT] } },
    ],
  },
  {
    when: { toolResult: "lib.rs" },
    repeat: true,
    steps: [{ tool: "bash", arguments: { command: "touch tested; echo all tests passed" } }],
  },
  { when: { toolResult: "all tests" }, repeat: true, steps: [{ text: ANSWER, delayMs: 2 }] },
  {
    repeat: true,
    steps: [
      { thinking: "Negative numbers have to parse. I look at the file first, then change the type.", delayMs: 4 },
      { text: "I look at the parser first." },
      { tool: "read", arguments: { file_path: "src/lib.rs" } },
      { tool: "grep", arguments: { pattern: "parse" } },
    ],
  },
];

await play(async (stage, serve) => {
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "dark"],
    ["desktop", DESKTOP, "light"],
  ]) {
    file("src/lib.rs", SOURCE);
    file("AGENTS.md", "# Rules\n\nKeep it small.\n");
    const server = await serve(TURNS);
    const page = await stage.enter(server, size, { colorScheme });
    assert.equal(new URL(page.url()).hash, "", "the token stays in no address");
    await picture(page, `${name}-start`);

    await say(page, "Make parse take negative numbers, please.");
    const question = page.locator(".ask");
    await question.locator(".diff .add").waitFor();
    assert.match(await question.innerText(), /Option<i64>/);
    await picture(page, `${name}-question`);
    await question.getByRole("button", { name: "Allow once" }).click();
    await question.getByText("$ touch tested; echo all tests passed").waitFor();
    await question.getByRole("button", { name: "Allow once" }).click();

    await page.locator(".prose table").waitFor();
    await settled(page);
    assert.match(readFileSync(join(work, "src/lib.rs"), "utf8"), /Option<i64>/);
    const seen = async () => ({
      verbs: await page.locator(".tool .verb").allTextContents(),
      added: await page.locator(".tool .diff .add .text").allTextContents(),
      headings: await page.locator(".prose h4").allTextContents(),
      keywords: (await page.locator(".prose .s-keyword").count()) > 0,
      links: await page
        .locator(".prose a")
        .evaluateAll((links) => links.map((link) => [link.href, link.rel, link.target])),
      note: await page.locator(".prose blockquote.note").count(),
    });
    const expected = {
      verbs: ["Read", "Searched", "Edited", "Ran"],
      added: ["pub fn parse(text: &str) -> Option<i64> {"],
      headings: ["What changed"],
      keywords: true,
      links: [["https://doc.rust-lang.org/", "noopener noreferrer nofollow", "_blank"]],
      note: 1,
    };
    assert.deepEqual(await seen(), expected);
    await page.waitForFunction(() => document.querySelector("#to-end").hidden);
    await picture(page, `${name}-end`);

    await page.locator(".tool", { hasText: "Ran" }).locator("summary").first().click();
    await page.locator(".tool .output", { hasText: "all tests passed" }).last().waitFor();
    await page.locator("#scroller").evaluate((scroller) => (scroller.scrollTop = 0));
    await page.locator("#to-end").waitFor();
    await picture(page, `${name}-begin`);
    await page.click("#to-end");
    await page.locator("#to-end").waitFor({ state: "hidden" });

    // A reloaded page and a later client show the same conversation.
    await page.reload();
    await ready(page);
    await page.locator(".prose table").waitFor();
    assert.deepEqual(await seen(), expected);

    await page.click("#open-drawer");
    await page.getByText("Files in the context").waitFor();
    const files = page.locator(".tree-list");
    await files.getByText("lib.rs").waitFor();
    assert.match(await files.innerText(), /AGENTS\.md[\s\S]*instructions[\s\S]*src\/[\s\S]*lib\.rs[\s\S]*changed/);
    await page.locator(".window-bar").waitFor();
    const drawer = page.locator("#drawer");
    await drawer.getByRole("searchbox", { name: "Search models" }).waitFor();
    assert.doesNotMatch(await drawer.innerText(), /\[object/);
    await picture(page, `${name}-drawer`);
    await page.getByRole("radio", { name: "Plan" }).click();
    await page.locator(".chip-button", { hasText: "plan" }).waitFor({ state: "attached" });
    await page.context().close();
    await server.stop();
  }
});
