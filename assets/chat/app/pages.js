// The pages of the conversation view: a few messages each. Only those near the window are in the document; the others leave
// their height. So no frame depends on the length of the session.

import { el } from "./dom.js";

/** Distance from the window within which a page is shown, and beyond which it is put away, in pixels. */
const NEAR = 1500;
const FAR = 2500;
/** Messages of a page. It ends before a prompt, or at the most. */
const FEWEST = 4;
const MOST = 12;
/** Height of a message that was never shown, in pixels. */
const GUESS = 200;

/** Where the last page of messages begins; they are `{role}`, oldest first. */
export function lastPage(items, end) {
  let start = end;
  while (start > 0 && end - start < MOST) {
    start -= 1;
    if (end - start >= FEWEST && items[start].role === "user") break;
  }
  return start;
}

export class Pages {
  /** All pages, oldest first. */
  #pages = [];
  #shown = new Set();
  /** The messages of pages that are put away, as fragments. */
  #away = new Map();
  /** The numbers of the first page near the window, and of the one after the last. */
  #from = 0;
  #to = 0;
  #isQueued = false;

  constructor(scroller, root) {
    Object.assign(this, { scroller, root });
    // Pages that are not in the document would be missing in copied text, on paper, and in the search of the browser.
    document.addEventListener("copy", () => this.#show(this.#pages.filter(isSelected)));
    addEventListener("beforeprint", () => this.#show(this.#pages));
    addEventListener("afterprint", () => this.queue());
    addEventListener("keydown", (event) => isSearch(event) && this.#prepareSearch());
    root.addEventListener("beforematch", ({ target }) => this.#shown.has(target) || this.#show([target]));
  }

  clear() {
    this.#pages = [];
    this.#shown.clear();
    this.#away.clear();
    [this.#from, this.#to] = [0, 0];
  }

  /** A page of earlier messages above the others. It is put away. */
  prepend(nodes) {
    const page = el("div", { class: "page" }, nodes);
    this.#leave(page, nodes.length * GUESS);
    this.keep(() => (this.#pages[0] ? this.#pages[0].before(page) : this.root.append(page)));
    this.#pages.unshift(page);
    this.#from += 1;
    this.#to += 1;
  }

  /** Adds a new message at the end. */
  append(node, isPrompt) {
    const last = this.#pages.at(-1);
    const count = last ? (this.#away.get(last) ?? last).childElementCount : MOST;
    if (count < FEWEST || (count < MOST && !isPrompt)) return (this.#away.get(last) ?? last).append(node);
    const page = el("div", { class: "page" }, node);
    this.#pages.push(page);
    this.#shown.add(page);
    this.root.append(page);
  }

  /** Changes something above or in the window. What is in sight stays where it is. */
  keep(change) {
    const { top } = this.scroller.getBoundingClientRect();
    const near = this.#pages.slice(this.#from, this.#to);
    const anchor = near.find((page) => page.getBoundingClientRect().bottom > top);
    const before = anchor?.getBoundingClientRect().top;
    change();
    const moved = anchor ? anchor.getBoundingClientRect().top - before : 0;
    if (moved !== 0) this.scroller.scrollTop += moved;
  }

  /** Shows the pages near the window and puts the others away, in the next frame. */
  queue() {
    if (this.#isQueued) return;
    this.#isQueued = true;
    requestAnimationFrame(() => {
      this.#isQueued = false;
      if (this.update()) this.queue();
    });
  }

  /** Updates the pages at once. Returns whether further pages may be near now, because the height of new pages was a guess. */
  update() {
    const { top, bottom } = this.scroller.getBoundingClientRect();
    // The conversation is not shown.
    if (top === bottom) return false;
    const all = this.#pages;
    const at = (number) => all[number].getBoundingClientRect();
    while (this.#from > 0 && at(this.#from - 1).bottom > top - NEAR) this.#from -= 1;
    while (this.#from < all.length && at(this.#from).bottom < top - FAR) this.#from += 1;
    this.#to = Math.max(this.#from, this.#to);
    while (this.#to < all.length && at(this.#to).top < bottom + NEAR) this.#to += 1;
    while (this.#to > this.#from && at(this.#to - 1).top > bottom + FAR) this.#to -= 1;
    const near = all.slice(this.#from, this.#to);
    const isNew = this.#show(near);
    this.#putAway([...this.#shown].filter((page) => !near.includes(page)));
    return isNew;
  }

  /** Shows pages. Returns whether one of them was not shown. */
  #show(pages) {
    const hidden = pages.filter((page) => !this.#shown.has(page));
    if (hidden.length === 0) return false;
    this.keep(() => {
      for (const page of hidden) {
        if (this.#away.has(page)) page.append(this.#away.get(page));
        this.#away.delete(page);
        this.#shown.add(page);
        page.hidden = false;
        page.style.height = "";
      }
    });
    return true;
  }

  #putAway(pages) {
    // Focus and selection would be lost.
    const unused = pages.filter((page) => !page.contains(document.activeElement) && !isSelected(page));
    const heights = unused.map((page) => page.getBoundingClientRect().height);
    unused.forEach((page, place) => this.#leave(page, heights[place]));
  }

  #leave(page, height) {
    const messages = document.createDocumentFragment();
    messages.append(...page.childNodes);
    for (const message of messages.children) message.classList.remove("fresh");
    this.#away.set(page, messages);
    this.#shown.delete(page);
    page.hidden = false;
    page.style.height = `${height}px`;
  }

  /** The search of the browser finds hidden messages, if they are in the document. They stay there until the user continues. */
  #prepareSearch() {
    if (!("onbeforematch" in this.root) || this.#away.size === 0) return;
    const hidden = [...this.#away.keys()];
    for (const page of hidden) {
      page.append(this.#away.get(page));
      page.hidden = "until-found";
    }
    this.#away.clear();
    const done = new AbortController();
    const end = (event) => {
      if (isSearch(event)) return;
      done.abort();
      for (const page of hidden) if (page.hidden && page.isConnected) this.#leave(page, page.offsetHeight);
    };
    for (const type of ["keydown", "pointerdown", "wheel"])
      addEventListener(type, end, { signal: done.signal, passive: true });
  }
}

const isSearch = ({ key, ctrlKey, metaKey }) => key?.toLowerCase() === "f" && (ctrlKey || metaKey);

function isSelected(page) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(page, true);
}
