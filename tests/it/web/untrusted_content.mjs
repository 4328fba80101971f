// A model, a tool and files that try to run code in the page: nothing runs, nothing is requested, and the structure
// of the page stays. The content security policy alone also stops what the page's own code would let through.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { DESKTOP, file, play, say, settled } from "./support.mjs";

let visits = 0;
const listener = createServer((_, answer) => (visits++, answer.end())).listen(0, "127.0.0.1");
await new Promise((resolve) => listener.once("listening", resolve));
const there = `http://127.0.0.1:${listener.address().port}`;
const run = `document.title='owned';fetch('${there}/x')`;

const ATTACKS = [
  `<script>${run}</script>`,
  `</code></pre></div></main><script>${run}</script>`,
  `<img src=x onerror="${run}">`,
  `<img src="${there}/pixel.png">`,
  `<svg/onload="${run}"><svg><script>${run}</script><animate onbegin="${run}" attributeName=x></svg>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${run}">`,
  `<iframe srcdoc="<script>${run}</script>"></iframe><object data="data:text/html,<script>${run}</script>"></object>`,
  `[link](javascript:${run}) [data](data:text/html;base64,PHNjcmlwdD4=) [vb](vbscript:x) <javascript:${run}>`,
  `[breaks](https://a.example/"onmouseover="${run}) ![breaks](${there}/p.png"onerror="${run})`,
  `![picture](${there}/p.png) ![svg](data:image/svg+xml,<svg onload="${run}">)`,
  `<a href="javascript:${run}">x</a><link rel=stylesheet href=${there}/s.css><base href=${there}/>`,
  `<meta http-equiv=refresh content="0;url=${there}/r"><style>@import '${there}/i.css';body{display:none}</style>`,
  `<form action=${there}><button formaction="javascript:${run}" autofocus onfocus="${run}">x</button></form>`,
  `\`\`\`"><script>${run}</script>\ncode</code></pre><script>${run}</script>\n\`\`\``,
  `| <script>${run}</script> |\n|---|\n| <img src=${there}/t onerror=${run}> |`,
  `[^"><script>]\n\n[^"><script>]: <script>${run}</script>`,
  `<!-- --><!--><script>${run}</script>-->\u202e\u0000`,
  `' onmouseover='${run}' x="`,
];
const all = ATTACKS.join("\n\n");
/** More places for markup: file names, tool output, questions. */
const NAME = `"><img src=x onerror=alert(1)>.txt`;

const TURNS = [
  {
    steps: [
      { thinking: all },
      { text: all, chunk: 7 },
      { tool: "write", arguments: { file_path: NAME, content: `${all}\n` } },
      { tool: "bash", arguments: { command: `cat '${NAME}' | tee copy.txt; echo '${ATTACKS[0].replaceAll("'", "’")}'` } },
      { tool: ATTACKS[2], arguments: { command: all, [ATTACKS[0]]: ATTACKS[4] } },
      { tool: "bash", arguments: { command: "touch owned\rls \u202e-la\u001b]0;x\u0007" } },
    ],
  },
  { repeat: true, steps: [{ text: `${all}\n\nThe end.`, chunk: 31 }] },
];

await play(async (stage, serve) => {
  file("AGENTS.md", all);
  const server = await serve(TURNS);
  const page = await stage.enter(server, DESKTOP);
  const elsewhere = [];
  page.on(
    "request",
    (request) =>
      !request.url().startsWith(new URL(server.url).origin) &&
      !/^(data|blob):/.test(request.url()) &&
      elsewhere.push(request.url()),
  );
  await page.evaluate(() => {
    window.stopped = [];
    addEventListener("securitypolicyviolation", (event) =>
      window.stopped.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  await say(page, `go ${all}`);
  for (const place of ["a file", "a command"]) {
    await page.locator(".ask").waitFor();
    assert.equal(await page.locator(".ask").count(), 1, place);
    const shown = await page.locator(".ask").innerText();
    assert.ok(shown.includes(place === "a file" ? NAME : "$ cat"), shown);
    // Neither the file nor the command is cut at the edge of the card.
    const content = page.locator(".ask .content");
    const isCut = await content.evaluate((content) =>
      [content, ...content.querySelectorAll("pre.output")].some((node) => node.scrollWidth > node.clientWidth),
    );
    assert.equal(isCut, false, place);
    await page.getByRole("button", { name: "Allow once" }).click();
  }
  await page.locator(".answer .prose", { hasText: "The end." }).waitFor();
  await settled(page);
  // Expands everything, with the side panel and the developer view.
  await page.click("#open-drawer");
  await page.getByRole("switch", { name: "Developer mode" }).click();
  await page.locator(".tree-list").waitFor();
  await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
  await page.locator(".events details pre").first().waitFor();
  await page.evaluate(() =>
    document
      .querySelectorAll("*")
      .forEach((node) => node.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }))),
  );

  // A command that is refused is shown with all of its characters.
  const hidden = page.locator(".tool", { hasText: "touch owned" });
  const complete = "touch owned␍ls \\u{202e}-la\\u{1b}]0;x\\u{7}";
  assert.equal(await hidden.locator(".what").textContent(), complete);
  assert.equal(await hidden.locator("pre.command").textContent(), `$ ${complete}`);

  const found = await page.evaluate(() => {
    const nodes = [...document.querySelectorAll("main *, aside *, nav *")];
    const attributes = nodes.flatMap((node) =>
      [...node.attributes].map(({ name, value }) => [node.localName, name, value]),
    );
    return {
      elements: [...new Set(nodes.map((node) => node.localName))].filter((name) =>
        [
          "script",
          "iframe",
          "object",
          "embed",
          "link",
          "meta",
          "base",
          "style",
          "math",
          "animate",
          "frame",
          "video",
          "audio",
        ].includes(name),
      ),
      handlers: attributes.filter(
        ([, name]) => name.startsWith("on") || name === "srcdoc" || name === "formaction",
      ),
      links: attributes.filter(
        ([element, name, value]) => element === "a" && name === "href" && !/^(https?:|mailto:|#)/.test(value),
      ),
      pictures: attributes.filter(
        ([element, name, value]) => element === "img" && name === "src" && !value.startsWith("/icons/"),
      ),
      forms: nodes.filter((node) => node.localName === "form" && node.id !== "composer").length,
      title: document.title,
      stopped: window.stopped,
    };
  });
  const { title, ...parts } = found;
  assert.deepEqual(parts, { elements: [], handlers: [], links: [], pictures: [], forms: 0, stopped: [] });
  assert.doesNotMatch(title, /^owned$/);
  assert.deepEqual(elsewhere, []);
  assert.equal(visits, 0);

  // Only the content security policy.
  const held = await page.evaluate(async (there) => {
    const tried = {};
    const attempt = (name, act) => {
      try {
        tried[name] = act() ?? "done";
      } catch (error) {
        tried[name] = error.name;
      }
    };
    attempt("markup", () => (document.createElement("div").innerHTML = "<b>x</b>"));
    // Code evaluated by the debugger may run; code that it adds to the page may not.
    await new Promise((resolve) =>
      setTimeout(() => resolve(attempt("function", () => new Function("return 1")()))),
    );
    attempt("policy", () => trustedTypes.createPolicy("other", { createHTML: (html) => html }) && "made");
    const script = document.createElement("script");
    attempt("inline", () => ((script.text = "window.inline = 1"), document.body.append(script)));
    const button = document.createElement("button");
    button.setAttribute("style", "color: red");
    tried.style = button.style.color;
    tried.reach = await fetch(there).then(
      () => "reached",
      (error) => error.name,
    );
    const image = new Image();
    tried.image = await new Promise(
      (resolve) => (
        (image.onload = () => resolve("loaded")),
        (image.onerror = () => resolve("refused")),
        (image.src = `${there}/i.png`)
      ),
    );
    tried.ran = window.inline ?? "no";
    return tried;
  }, there);
  assert.deepEqual(held, {
    markup: "TypeError",
    function: "EvalError",
    policy: "TypeError",
    inline: "TypeError",
    style: "",
    reach: "TypeError",
    image: "refused",
    ran: "no",
  });
  assert.equal(visits, 0);
  // The console contains the expected policy violations.
  stage.faults = stage.faults.filter(
    (fault) => !/Content Security Policy|TrustedHTML|TrustedScript|Trusted|Refused|violates/i.test(fault),
  );
});
listener.close();
