// The conversation view: one view for each message. Follows the end unless the user scrolls up.

import { announce, byId, el } from "./dom.js";
import { groupTools } from "./groups.js";
import { watchGestures } from "./gestures.js";
import { watchCode } from "./markdown.js";
import { MessageView } from "./message.js";
import { Pages, lastPage } from "./pages.js";
import { start } from "./start.js";
import { ToolView } from "./tool.js";

/** Distance from the end that counts as the end, in pixels. */
const END_TOLERANCE = 80;
/** Distance from the first message at which earlier messages are loaded. */
const PRELOAD_DISTANCE = "5000px";

export class Transcript {
  #views = new Map();
  #tools = new Map();
  #following = true;
  #queued = false;
  /** The last scroll position. */
  #top = 0;
  /** The heights at that position, and when the user last scrolled. */
  #size = "";
  #touched = 0;
  /** The user has scrolled away from the end. */
  #hasScrolledUp = false;
  #watcher = null;
  #pages;
  /** The message that shows its actions. It can be put away. */
  #newest = null;

  /** `act(name, item)` runs an action of a message; `menu(item, anchor)` shows all of them. */
  constructor({ act, menu }) {
    this.act = act;
    this.menu = menu;
    this.root = byId("transcript");
    this.scroller = byId("scroller");
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    const touch = () => (this.#touched = Date.now());
    for (const type of ["wheel", "touchmove", "pointerdown", "keydown"])
      this.scroller.addEventListener(type, touch, { passive: true });
    byId("to-end").addEventListener("click", () => this.toEnd(true));
    this.root.addEventListener("grown", () => this.#scrollToEnd());
    this.root.addEventListener("click", ({ target }) => target.closest(".tool-group, summary, .more") && this.#stay());
    this.#pages = new Pages(this.scroller, this.root);
    const resized = new ResizeObserver(() => (this.#pages.queue(), this.#scrollToEnd()));
    [this.root, this.scroller].forEach((node) => resized.observe(node));
    watchCode(this.root);
    watchGestures(this.root, {
      hold: (node) => this.#itemOf(node) && menu(this.#itemOf(node), null),
      swipe: (node, direction) => this.#sibling(this.#itemOf(node), direction),
      canSwipe: (node) => this.siblingsOf(this.#itemOf(node)),
    });
  }

  /** Shows another conversation; `null` for none. */
  show(conversation) {
    this.#stop?.abort();
    this.conversation = conversation;
    if (!conversation) return (this.#pages.clear(), this.root.replaceChildren());
    const { signal } = (this.#stop = new AbortController());
    const on = (type, listener) =>
      conversation.addEventListener(type, ({ detail }) => listener(detail), { signal });
    on("reset", (detail) => this.#reset(detail.earlier));
    on("item", ({ item }) => this.#item(item));
    on("delta", ({ item, index, delta }) => this.#view(item).delta(index, delta));
    on("removed", ({ item }) => this.#remove(item));
    on("call", ({ id }) => this.#tools.get(id)?.update());
    on("tree", () => this.#views.forEach((view) => view.updateBranches()));
    on("settled", ({ outcome }) => this.#settled(outcome));
    this.#reset();
  }
  #stop = null;

  tool(id) {
    if (!this.#tools.has(id)) this.#tools.set(id, new ToolView(id, this.conversation));
    return this.#tools.get(id);
  }

  /** Updates the views of tools, which depend on developer mode. */
  refresh() {
    this.#tools.forEach((tool) => tool.update());
  }

  #reset(earlier = false) {
    if (earlier) return this.#addEarlier();
    this.#tools = new Map();
    this.#hasScrolledUp = false;
    this.#views = new Map();
    this.#pages.clear();
    const { conversation, root } = this;
    root.replaceChildren();
    while (this.#addPage());
    if (!conversation.atStart) root.prepend(this.#earlier());
    if (!root.hasChildNodes() && conversation.ready) root.append(start(conversation));
    this.#mark();
    do this.toEnd();
    while (this.#pages.update());
  }

  /** Shows the earlier messages that were loaded, a page per frame. */
  #addEarlier(later = this.#views) {
    // Another conversation is shown.
    if (later !== this.#views) return;
    this.#pages.keep(() => this.root.querySelector(":scope > .earlier")?.remove());
    if (this.#addPage()) return void requestAnimationFrame(() => this.#addEarlier(later));
    if (!this.conversation.atStart) this.#pages.keep(() => this.root.prepend(this.#earlier()));
  }

  /** Adds the page before the first message that is shown. Returns whether messages remain. */
  #addPage() {
    const { items } = this.conversation;
    const known = items.findIndex(({ key }) => this.#views.has(key));
    const end = known < 0 ? items.length : known;
    if (end === 0) return false;
    const start = lastPage(items, end);
    this.#pages.prepend(items.slice(start, end).map((item) => this.#newView(item).node));
    for (let place = start; place < end; place++) this.#continue(place);
    this.#group(start, end);
    return start > 0;
  }

  /** Marks an answer that another one follows in the same run. */
  #continue(place) {
    const [item, next] = [this.conversation.items[place], this.conversation.items[place + 1]];
    const isContinued = item?.role === "assistant" && next?.role === "assistant";
    this.#views.get(item?.key)?.node.classList.toggle("continued", isContinued);
  }

  #newView(item) {
    const view = new MessageView(item, this);
    this.#views.set(item.key, view);
    return view;
  }

  /** Groups the tool calls of some items. A row of calls continues until the next prompt. */
  #group(start, end) {
    const { items } = this.conversation;
    const next = items.findIndex((item, place) => place >= end && item.role === "user");
    const row = items.slice(start, next < 0 ? items.length : next);
    groupTools(row.flatMap(({ key }) => this.#views.get(key)?.node ?? []), this.conversation);
  }

  #earlier() {
    const button = el("button", { class: "plain earlier", type: "button" }, "Show earlier messages");
    const load = () => {
      if (button.disabled) return;
      button.disabled = true;
      this.conversation.loadEarlier().catch(() => (button.disabled = false));
    };
    button.addEventListener("click", load);
    // Load only after the user has scrolled up, or the page would load the complete session.
    this.#watcher?.disconnect();
    this.#watcher = new IntersectionObserver(
      (seen) => this.#hasScrolledUp && seen.some(({ isIntersecting }) => isIntersecting) && load(),
      { root: this.scroller, rootMargin: `${PRELOAD_DISTANCE} 0px 0px 0px` },
    );
    this.#watcher.observe(button);
    return button;
  }

  #view(item) {
    const known = this.#views.get(item.key);
    if (known) return known;
    this.root.querySelector(".start")?.remove();
    const view = this.#newView(item);
    view.node.classList.add("fresh");
    const { items } = this.conversation;
    const place = items.lastIndexOf(item);
    const before = this.#views.get(items[place + 1]?.key)?.node;
    if (before) before.before(view.node);
    else this.#pages.append(view.node, item.role === "user");
    this.#continue(place - 1);
    this.#continue(place);
    this.#mark();
    if (item.role === "user") this.toEnd();
    return view;
  }

  #item(item) {
    const known = this.#views.has(item.key);
    const view = this.#view(item);
    if (known) view.update();
    this.#scrollToEnd();
  }

  #remove(item) {
    this.#views.get(item.key)?.node.remove();
    this.#views.delete(item.key);
    this.#continue(this.conversation.items.length - 1);
    this.#mark();
  }

  #mark() {
    this.#newest?.classList.remove("newest");
    const last = this.conversation.items.findLast((item) => item.role === "assistant" || item.role === "user");
    this.#newest = this.#views.get(last?.key)?.node;
    this.#newest?.classList.add("newest");
  }

  #settled(outcome) {
    this.#mark();
    const { items } = this.conversation;
    const prompt = items.findLastIndex((item) => item.role === "user");
    this.#group(Math.max(prompt, 0), items.length);
    const last = items.findLast((item) => item.role === "assistant");
    // Wait for the last rendering of the answer.
    setTimeout(() => {
      const prose = this.#views.get(last?.key)?.node.querySelector(".blocks > .prose:last-of-type");
      // The browser skips pieces of a long answer; then they have no `innerText`.
      const piece = prose?.querySelector(":scope > .piece");
      const answer = (piece?.textContent ?? prose?.innerText)?.trim().slice(0, 600);
      announce(
        { completed: answer ? `osier: ${answer}` : "Done", interrupted: "Stopped" }[outcome?.type] ?? "The run failed",
      );
    }, 400);
  }

  /** The branch switcher of a message; `null` if it has no other branches. */
  siblings(item) {
    const found = this.siblingsOf(item);
    if (!found) return null;
    const turn = (label, sign, direction, there) => {
      const button = el("button", { type: "button", "aria-label": label, disabled: !there }, sign);
      button.addEventListener("click", () => this.#sibling(item, direction));
      return button;
    };
    return el(
      "span",
      { class: "siblings", role: "group", "aria-label": `Branch ${found.place} of ${found.count}` },
      turn("Previous branch", "‹", -1, found.before),
      el("span", {}, `${found.place} of ${found.count}`),
      turn("Next branch", "›", 1, found.after),
    );
  }

  siblingsOf(item) {
    return item?.entryId ? this.conversation.tree.siblings(item.entryId) : null;
  }

  #sibling(item, direction) {
    const found = this.siblingsOf(item);
    const target = direction < 0 ? found?.before : found?.after;
    if (target) this.act("sibling", item, target);
  }

  #itemOf(node) {
    return this.conversation?.items.find((item) => item.key === node?.dataset.key);
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const isNear = scrollHeight - scrollTop - clientHeight < END_TOLERANCE;
    // Only the user scrolls up, or a search. Content that grows or shrinks does not stop following the end.
    const isJump = this.#top - scrollTop > clientHeight;
    const isUsers = isJump || `${scrollHeight} ${clientHeight}` === this.#size || Date.now() - this.#touched < 1000;
    if (isNear || (scrollTop < this.#top && isUsers)) this.#following = isNear;
    else this.#scrollToEnd();
    if (this.#pages.update()) this.#pages.queue();
    [this.#top, this.#size] = [this.scroller.scrollTop, `${this.scroller.scrollHeight} ${clientHeight}`];
    byId("to-end").hidden = this.#following;
    if (!this.#following && !this.#hasScrolledUp) {
      this.#hasScrolledUp = true;
      // Observe again, to be notified about a button that is already visible.
      const button = this.root.querySelector(":scope > .earlier");
      if (button) (this.#watcher?.unobserve(button), this.#watcher?.observe(button));
    }
    byId("main").classList.toggle("scrolled", scrollTop > 4);
  }

  /** The user opens something: it stays where it is, although the end moves. */
  #stay() {
    this.#following = false;
    requestAnimationFrame(() => requestAnimationFrame(() => this.#scrolled()));
  }

  /** Scrolls to the end, once per frame. */
  #scrollToEnd() {
    if (!this.#following || this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => {
      this.#queued = false;
      if (this.#following) this.scroller.scrollTop = this.scroller.scrollHeight;
    });
  }

  /** Something below the messages has changed. */
  follow() {
    this.#scrollToEnd();
  }

  toEnd(smoothly = false) {
    this.#following = true;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.scroller.scrollTo({ top: this.scroller.scrollHeight, behavior: smoothly && !calm ? "smooth" : "instant" });
    byId("to-end").hidden = true;
  }
}
