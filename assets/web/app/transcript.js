// The conversation view: one view for each message. Follows the end unless the user scrolls up.

import { announce, byId, el } from "./dom.js";
import { groupTools } from "./groups.js";
import { watchGestures } from "./gestures.js";
import { watchCode } from "./markdown.js";
import { MessageView } from "./message.js";
import { start } from "./start.js";
import { ToolView } from "./tool.js";

/** Distance from the end that counts as the end, in pixels. */
const END_TOLERANCE = 80;
/** Distance from the first message at which earlier messages are loaded. */
const PRELOAD_DISTANCE = "900px";
/** Distance from the window at which a page of earlier messages is skipped as one. */
const FAR = "3000px";
/** Earlier messages that are added per frame. */
const EARLIER_PER_FRAME = 4;

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
    new ResizeObserver(() => this.#scrollToEnd()).observe(this.root);
    new ResizeObserver(() => this.#scrollToEnd()).observe(this.scroller);
    // A page that is skipped keeps its height. Near the window only its messages are: nested, the text in sight would jump.
    this.#pages = new IntersectionObserver(
      (seen) => {
        for (const { target, isIntersecting, boundingClientRect } of seen) {
          if (!isIntersecting) target.style.containIntrinsicBlockSize = `${boundingClientRect.height}px`;
          target.classList.toggle("far", !isIntersecting);
        }
      },
      { root: this.scroller, rootMargin: `${FAR} 0px` },
    );
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
    if (!conversation) return this.root.replaceChildren();
    const { signal } = (this.#stop = new AbortController());
    const on = (type, listener) =>
      conversation.addEventListener(type, ({ detail }) => listener(detail), { signal });
    on("reset", (detail) => this.#reset(detail.earlier));
    on("item", ({ item }) => this.#item(item));
    on("delta", ({ item, index, delta }) => this.#view(item).delta(index, delta));
    on("removed", ({ item }) => this.#remove(item));
    on("call", ({ id }) => this.#tools.get(id)?.update());
    on("tree", () => this.#views.forEach((view) => view.updateFooter()));
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
    this.#pages.disconnect();
    this.#tools = new Map();
    this.#hasScrolledUp = false;
    this.#views = new Map();
    const { conversation, root } = this;
    const nodes = this.#nodes(conversation.items);
    if (!conversation.atStart) nodes.unshift(this.#earlier());
    if (nodes.length === 0 && conversation.ready) nodes.push(start(conversation));
    root.replaceChildren(...nodes);
    groupTools(root, conversation);
    this.#mark();
    this.toEnd();
  }

  /**
   * Shows the earlier messages that were loaded, a few per frame. They are a page, which the browser skips as one while it is far
   * away: a frame must not depend on the length of the session.
   */
  #addEarlier(page = el("div", { class: "page" })) {
    const { scroller, root, conversation } = this;
    const fromEnd = scroller.scrollHeight - scroller.scrollTop;
    const known = conversation.items.findIndex(({ key }) => this.#views.has(key));
    const missing = known < 0 ? conversation.items : conversation.items.slice(0, known);
    const first = root.querySelector(".message");
    root.querySelector(":scope > .earlier")?.remove();
    if (!page.isConnected) root.prepend(page);
    page.prepend(...this.#nodes(missing.slice(-EARLIER_PER_FRAME)));
    const isComplete = missing.length <= EARLIER_PER_FRAME;
    if (isComplete && !conversation.atStart) root.prepend(this.#earlier());
    groupTools(root, conversation, first);
    scroller.scrollTop = scroller.scrollHeight - fromEnd;
    if (isComplete) this.#pages.observe(page);
    else requestAnimationFrame(() => page.isConnected && this.#addEarlier(page));
  }

  /** New nodes of messages. */
  #nodes(items) {
    return items.map((item) => {
      const view = new MessageView(item, this);
      this.#views.set(item.key, view);
      return view.node;
    });
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
    const view = new MessageView(item, this);
    view.node.classList.add("fresh");
    this.#views.set(item.key, view);
    const next = this.conversation.items[this.conversation.items.indexOf(item) + 1];
    const before = this.#views.get(next?.key)?.node;
    (before?.parentNode ?? this.root).insertBefore(view.node, before ?? null);
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
    this.#mark();
  }

  #mark() {
    this.root.querySelector(".newest")?.classList.remove("newest");
    const last = this.conversation.items.findLast((item) => item.role === "assistant" || item.role === "user");
    this.#views.get(last?.key)?.node.classList.add("newest");
  }

  #settled(outcome) {
    this.#mark();
    groupTools(this.root, this.conversation);
    const last = this.conversation.items.findLast((item) => item.role === "assistant");
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
    // Only the user scrolls up. Content that grows or shrinks does not stop following the end.
    const size = `${scrollHeight} ${clientHeight}`;
    const isUsers = size === this.#size || Date.now() - this.#touched < 1000;
    if (isNear || (scrollTop < this.#top && isUsers)) this.#following = isNear;
    else this.#scrollToEnd();
    [this.#top, this.#size] = [scrollTop, size];
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
