// The only module that inserts markup. The markup comes from the own server, which escapes all content. Trusted Types
// allow no other module to insert markup, and the content security policy allows no script in it.

import { api } from "./api.js";
import { el } from "./dom.js";

const policy = window.trustedTypes?.createPolicy("osier", {
  createHTML: (html) => html,
  createScriptURL: (url) => {
    if (url !== "/worker.js") throw new TypeError("no other script is loaded");
    return url;
  },
});
export const scriptUrl = (url) => policy?.createScriptURL(url) ?? url;

/** Shortest time between two renderings of a streaming text, in milliseconds. */
const MIN_INTERVAL = 90;
/** Rendered texts by their source, so that switching back to a branch needs no request. */
const cache = new Map();
const CACHE_SIZE = 400;

/** Footnotes of different texts have different ids. */
let scopes = 0;
const scopeOf = (target) => (target.dataset.scope ??= String(++scopes));

function remember(text, html) {
  // The ids of footnotes belong to one text of the page.
  if (html.some((block) => block.includes("<div class=footnote"))) return;
  cache.set(text, html);
  if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value);
}

function block(html) {
  const node = el("div", { class: "block" });
  node.innerHTML = policy?.createHTML(html) ?? html;
  return node;
}

/** Texts of the next request. */
let waiting = [];

/** Shows a complete text. Texts of the same moment are rendered in one request. */
export function show(target, text) {
  const html = cache.get(text);
  if (html) return void target.replaceChildren(...html.map(block));
  if (text.length > LONGEST) return void showPieces(target, text);
  if (!target.hasChildNodes()) target.textContent = text;
  waiting.push({ target, text });
  if (waiting.length === 1) queueMicrotask(flush);
}

/** Longest text that is rendered at once, and the length of a piece of a longer one, in characters. */
const LONGEST = 100_000;
const PIECE = 20_000;

/** Pieces of a long text that end between paragraphs, outside of code blocks. A longer block stays whole, up to a limit. */
export function pieces(text) {
  const found = [];
  let [start, fence, end] = [0, null, 0];
  while (end < text.length) {
    const next = text.indexOf("\n", end) + 1 || text.length;
    const line = text.slice(end, Math.min(next, end + 200));
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark) fence = fence ? (mark.startsWith(fence) ? null : fence) : mark;
    end = next;
    const isBetween = !fence && !line.trim();
    if (end - start < (isBetween ? PIECE : LONGEST)) continue;
    found.push(text.slice(start, end));
    start = end;
  }
  if (start < text.length) found.push(text.slice(start));
  return found;
}

/** Renders a long text piece by piece, so that its start is there at once and the page stays responsive. */
async function showPieces(target, text) {
  const nodes = pieces(text).map((piece) => el("div", { class: "block piece output" }, piece));
  target.replaceChildren(...nodes);
  for (const node of nodes) {
    // Another text has replaced this text.
    if (node.parentNode !== target) return;
    try {
      const { html } = await api.markdown([{ text: node.textContent, scope: scopeOf(target) }]);
      const rendered = block(html[0].blocks.join(""));
      rendered.classList.add("piece");
      node.replaceWith(rendered);
    } catch {
      // The plain text remains.
    }
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}

async function flush() {
  const batch = waiting;
  waiting = [];
  try {
    const { html } = await api.markdown(batch.map(({ target, text }) => ({ text, scope: scopeOf(target) })));
    batch.forEach(({ target, text }, place) => {
      remember(text, html[place].blocks);
      target.replaceChildren(...html[place].blocks.map(block));
    });
  } catch {
    // The plain text remains.
  }
}

/** A streaming text. Finished blocks are rendered once; only the open block is rendered again. */
export class StreamingMarkdown {
  #text = "";
  /** End of the finished blocks in the text, and their number. */
  #finishedEnd = 0;
  #finished = 0;
  #busy = false;
  #dirty = false;
  #ended = false;

  constructor(target) {
    this.target = target;
    target.classList.add("live");
  }

  append(more) {
    this.#text += more;
    this.#schedule();
  }

  /** The text is complete: renders all of it, so that link references at its end work. */
  end(text) {
    this.#ended = true;
    this.target.classList.remove("live");
    show(this.target, text);
  }

  #schedule() {
    this.#dirty = true;
    if (!this.#busy) this.#render();
  }

  async #render() {
    this.#busy = true;
    while (this.#dirty && !this.#ended) {
      this.#dirty = false;
      const started = performance.now();
      try {
        const { html } = await api.markdown([
          { text: this.#text.slice(this.#finishedEnd), open: true, scope: scopeOf(this.target) },
        ]);
        if (!this.#ended) this.#update(html[0]);
      } catch {
        if (!this.#ended) this.#showPlain();
      }
      const rest = MIN_INTERVAL - (performance.now() - started);
      if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    }
    this.#busy = false;
  }

  #update({ blocks, taken, finished }) {
    while (this.target.childNodes.length > this.#finished) this.target.lastChild.remove();
    this.target.append(...blocks.map(block));
    this.#finishedEnd += taken;
    this.#finished += finished;
    this.target.dispatchEvent(new Event("grown", { bubbles: true }));
  }

  /** Without the server, shows the rest as plain text. */
  #showPlain() {
    while (this.target.childNodes.length > this.#finished) this.target.lastChild.remove();
    this.target.append(el("div", { class: "block output" }, this.#text.slice(this.#finishedEnd)));
  }
}

/** Each of `lines` in colours, as nodes; `null` if the server does not know the language. */
export async function highlight(language, lines) {
  const text = lines.join("\n");
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  const { html } = await api.markdown([{ text: `${fence}${language}\n${text}\n${fence}` }]);
  const code = block(html[0].blocks.join("")).querySelector("code");
  return code?.childElementCount ? splitLines(code, lines.length) : null;
}

/** The lines of an element as fragments. A span of several lines becomes one for each. */
function splitLines(code, count) {
  const lines = [document.createDocumentFragment()];
  for (const node of code.childNodes)
    node.textContent.split("\n").forEach((text, place) => {
      if (place > 0) lines.push(document.createDocumentFragment());
      if (!text) return;
      const copy = node.cloneNode();
      copy.textContent = text;
      lines.at(-1).append(copy);
    });
  return lines.slice(0, count);
}

/** Adds a copy button to code blocks, with one listener for all of them. */
export function watchCode(root) {
  root.addEventListener("pointerover", offer);
  root.addEventListener("focusin", offer);
  function offer(event) {
    const code = event.target.closest?.(".code");
    if (!code || code.querySelector(".copy")) return;
    const button = el("button", { class: "copy", type: "button" }, "Copy");
    button.addEventListener("click", async () => {
      await copy(code.querySelector("pre").textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    code.append(button);
  }
}

/** Copies to the clipboard; without permission, with `execCommand`. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { value: text, class: "unseen" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
