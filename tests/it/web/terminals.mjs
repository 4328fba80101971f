// A terminal of the model: its cell is live, also after the page was loaded again.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, picture, play, ready, say, settled, work } from "./support.mjs";

const waits = (name) => `until [ -e ${name} ]; do sleep 0.02; done; echo '${name} is here'`;

await play(async (stage, serve) => {
  for (const [name, size] of [
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ]) {
    const [first, second] = [`${name}-first`, `${name}-second`];
    const command = `echo started; ${waits(first)}; ${waits(second)}; exec cat`;
    const server = await serve(
      [
        { steps: [{ tool: "bash", arguments: { command, terminal: true } }] },
        { repeat: true, steps: [{ text: "It runs." }] },
      ],
      { permissions: "yolo" },
    );
    const page = await stage.enter(server, size, { reducedMotion: "reduce" });
    await say(page, "start it");
    await page.locator(".prose", { hasText: "It runs." }).waitFor();
    await settled(page);
    const screen = page.getByLabel("Screen of the terminal");
    const open = () => page.locator(".tool summary").first().click();
    await open();
    writeFileSync(join(work, first), "");
    await screen.getByText(`${first} is here`).waitFor();
    await picture(page, `${name}-terminal`);

    await page.reload();
    await ready(page);
    await open();
    await screen.getByText(`${first} is here`).waitFor();
    writeFileSync(join(work, second), "");
    await screen.getByText(`${second} is here`).waitFor();
    await page.context().close();
    await server.stop();
  }
});
