// The one place where markup becomes elements. It comes from our own server, which has escaped all that a model
// said; the page's policy (Trusted Types) lets no other script make markup, and no markup run script.

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

/** Shortest time between two renderings of one growing text, in milliseconds. */
const PACE = 90;
/** Finished texts by their source: going back to a branch costs nothing. */
const kept = new Map();
const KEPT = 400;

function remember(text, html) {
  kept.set(text, html);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
}

function block(html) {
  const node = el("div", { class: "block" });
  node.innerHTML = policy?.createHTML(html) ?? html;
  return node;
}

/** Texts that wait for one request. */
let waiting = [];

/** Shows a text that grows no more. Requests of one moment go together. */
export function show(target, text) {
  const html = kept.get(text);
  if (html) return void target.replaceChildren(...html.map(block));
  if (!target.hasChildNodes()) target.textContent = text;
  waiting.push({ target, text });
  if (waiting.length === 1) queueMicrotask(flush);
}

async function flush() {
  const batch = waiting;
  waiting = [];
  try {
    const { html } = await api.markdown(batch.map(({ text }) => ({ text })));
    batch.forEach(({ target, text }, place) => {
      remember(text, html[place].blocks);
      target.replaceChildren(...html[place].blocks.map(block));
    });
  } catch {
    // The plain text stays: it can be read.
  }
}

/** A text that grows. Finished blocks are asked for once; only the open one comes again and again. */
export class Growing {
  #text = "";
  /** Characters whose blocks are finished, and how many blocks those are. */
  #taken = 0;
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
    this.#poke();
  }

  /** The text is complete: it is rendered as a whole, so that what refers to its end is right. */
  end(text) {
    this.#ended = true;
    this.target.classList.remove("live");
    show(this.target, text);
  }

  #poke() {
    this.#dirty = true;
    if (!this.#busy) this.#render();
  }

  async #render() {
    this.#busy = true;
    while (this.#dirty && !this.#ended) {
      this.#dirty = false;
      const started = performance.now();
      try {
        const { html } = await api.markdown([{ text: this.#text.slice(this.#taken), open: true }]);
        if (!this.#ended) this.#take(html[0]);
      } catch {
        if (!this.#ended) this.#plain();
      }
      const rest = PACE - (performance.now() - started);
      if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
    }
    this.#busy = false;
  }

  #take({ blocks, taken, finished }) {
    while (this.target.childNodes.length > this.#finished) this.target.lastChild.remove();
    this.target.append(...blocks.map(block));
    this.#taken += taken;
    this.#finished += finished;
    this.target.dispatchEvent(new Event("grown", { bubbles: true }));
  }

  /** Without the server the rest is shown as it came. */
  #plain() {
    while (this.target.childNodes.length > this.#finished) this.target.lastChild.remove();
    this.target.append(el("div", { class: "block output" }, this.#text.slice(this.#taken)));
  }
}

/** Every block of code can be copied. One listener for all of them. */
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

/** Into the clipboard; where that is not allowed, by the old way. */
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
