// MCP servers: a form of a server, the status of each, and disabling one.

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DESKTOP, PHONE, faults, play, picture, say, setting, settled } from "./support.mjs";

const SERVER = join(dirname(fileURLToPath(import.meta.url)), "../mcp_server.sh");
const TURNS = [
  { when: { toolResult: "a large one" }, repeat: true, steps: [{ text: "It is large." }] },
  { repeat: true, steps: [{ tool: "shop__ask", arguments: {} }] },
];

await play(async (stage, serve) => {
  const command = (mode) => ({ command: "sh", args: [SERVER, mode] });
  setting("mcp.json", JSON.stringify({ mcpServers: { shop: command("good"), wrong: command("crash") } }));
  for (const [name, size, colorScheme] of [
    ["phone", PHONE, "dark"],
    ["desktop", DESKTOP, "light"],
  ]) {
    const server = await serve(TURNS, { permissions: "yolo" });
    const page = await stage.enter(server, size, { colorScheme, reducedMotion: "reduce" });
    const row = (server) => page.locator(".servers li", { hasText: server });
    await page.click("#open-drawer");
    await row("shop").getByText("Ready").waitFor();
    await row("shop").getByText("6 tools").waitFor();
    await row("wrong").getByText(/Failed|Restarting/).waitFor();
    assert.notEqual(await row("wrong").locator(".wrong").innerText(), "", "it says why");
    assert.deepEqual(await faults(page), []);
    await page.locator(".servers").scrollIntoViewIfNeeded();
    await picture(page, `${name}-servers`);
    if (size === PHONE) await page.keyboard.press("Escape");

    await say(page, "which size?");
    const dialog = page.locator(".ask");
    await dialog.getByText("Which size?").waitFor();
    await dialog.getByText("Asked by").waitFor();
    assert.deepEqual(await faults(page), []);
    await picture(page, `${name}-form`);
    await dialog.getByLabel(/size/).fill("large");
    await dialog.getByRole("button", { name: "Send" }).click();
    await page.locator(".answer", { hasText: "It is large." }).waitFor();
    await settled(page);

    if (size === PHONE) await page.click("#open-drawer");
    // The focus stays while the side panel updates.
    await row("shop").getByRole("button", { name: "Turn off: shop" }).press("Enter");
    await row("shop").getByText("Off", { exact: true }).waitFor();
    await row("shop").getByRole("button", { name: "Turn on: shop" }).click();
    await row("shop").getByText("Ready").waitFor();
    await page.context().close();
    await server.stop();
  }
});
