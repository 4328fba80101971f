// The dialog with the conversation of a subagent.

import { Conversation } from "./conversation.js";
import { el } from "./dom.js";
import { handlers } from "./events.js";
import { line, plural } from "./format.js";
import { MessageView } from "./message.js";
import { isActive, subagentFacts } from "./subagent_facts.js";
import { showError } from "./toast.js";
import { ToolView } from "./tool.js";

/** The conversation of a subagent, made of its events. Its questions are those of the session. */
class SubagentConversation extends Conversation {
  constructor(parent) {
    super(parent.connection, parent.id);
    this.parent = parent;
    this.facts = { cwd: parent.facts.cwd };
    this.questions = parent.questions;
  }

  ask(type, parameters) {
    return this.parent.ask(type, parameters);
  }

  readTree() {
    return Promise.resolve();
  }

  apply(event) {
    handlers[event.type]?.(this, event);
  }
}

/** The dialog with the conversation of one subagent. It follows the subagent while it is open. */
export class SubagentDialog {
  #views = new Map();
  #tools = new Map();
  #stop = new AbortController();
  /** The conversation so far has arrived. */
  #isLoaded = false;

  constructor(parent, info) {
    this.parent = parent;
    this.id = info.id;
    this.conversation = new SubagentConversation(parent);
    this.state = el("p", { class: "hint", role: "status" });
    this.queue = el("p", { class: "hint", role: "status" });
    this.messages = el("div", { class: "content transcript", tabindex: "0", role: "region", "aria-label": "Conversation" });
    this.field = el("input", { type: "text", placeholder: "Message to the subagent", "aria-label": "Message to the subagent" });
    this.buttons = el("div", { class: "choices" });
    this.steering = el("div", { class: "field" }, this.field);
    const form = el(
      "form",
      { method: "dialog" },
      el("header", {}, el("h2", {}, [info.id, info.name].filter(Boolean).join(" ")), this.state),
      this.messages,
      el("footer", {}, this.steering, this.queue, this.buttons),
    );
    form.addEventListener("submit", (event) => (event.preventDefault(), this.#send()));
    this.dialog = el("dialog", { class: "question board subagent", "aria-label": `Subagent ${info.id}` }, form);
    this.dialog.addEventListener("close", () => this.#closed());
    this.#watch();
  }

  // The views of messages use these members of a transcript.
  tool(id) {
    if (!this.#tools.has(id)) this.#tools.set(id, new ToolView(id, this.conversation));
    return this.#tools.get(id);
  }
  siblings() {
    return null;
  }
  siblingsOf() {
    return null;
  }
  act() {}
  menu() {}

  async open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.#draw();
    const { skipped, events } = await this.parent.ask("follow_subagent", { subagent: this.id });
    if (skipped > 0) {
      const text = `${plural(skipped, "earlier message is", "earlier messages are")} no longer in memory.`;
      this.messages.append(el("p", { class: "hint" }, text));
    }
    this.#isLoaded = true;
    for (const event of events) this.conversation.apply(event);
  }

  #watch() {
    const { signal } = this.#stop;
    const on = (source, type, listener) => source.addEventListener(type, ({ detail }) => listener(detail), { signal });
    on(this.conversation, "item", ({ item }) => this.#item(item));
    on(this.conversation, "delta", ({ item, index, delta }) => (this.#view(item).delta(index, delta), this.#follow()));
    on(this.conversation, "removed", ({ item }) => (this.#views.get(item.key)?.node.remove(), this.#views.delete(item.key)));
    on(this.conversation, "call", ({ id }) => this.#tools.get(id)?.update());
    on(this.conversation, "queue", () => this.#draw());
    // Events before the transcript are part of it.
    on(this.parent, "subagent_event", ({ subagent, event }) => {
      if (this.#isLoaded && subagent === this.id) this.conversation.apply(event);
    });
    on(this.parent, "subagents", () => this.#draw());
    for (const type of ["question", "closed"])
      on(this.parent, type, () => this.#tools.forEach((tool) => tool.update()));
    // A question is answered below the conversation.
    on(this.parent, "question", ({ request }) => request.subagent === this.id && this.dialog.close());
    on(this.parent, "reset", () => this.dialog.close());
    const timer = setInterval(() => this.#draw(), 1000);
    signal.addEventListener("abort", () => clearInterval(timer));
  }

  #view(item) {
    const known = this.#views.get(item.key);
    if (known) return known;
    const view = new MessageView(item, this);
    this.#views.set(item.key, view);
    this.messages.append(view.node);
    return view;
  }

  #item(item) {
    const isKnown = this.#views.has(item.key);
    const view = this.#view(item);
    if (isKnown) view.update();
    this.#follow();
  }

  #follow() {
    const { scrollTop, scrollHeight, clientHeight } = this.messages;
    if (scrollHeight - scrollTop - clientHeight < 240) this.messages.scrollTop = scrollHeight;
  }

  #draw() {
    const info = this.parent.subagents.find(({ id }) => id === this.id);
    if (!info) return;
    const facts = subagentFacts(info).join(" · ");
    if (this.state.textContent !== facts) this.state.textContent = facts;
    this.queue.textContent = this.conversation.queue.steering.map(({ text }) => `Steering: ${line(text)}`).join("\n");
    const active = isActive(info);
    this.steering.hidden = !active;
    const shown = `${active} ${info.background}`;
    if (this.shown === shown) return;
    this.shown = shown;
    const ask = (type) => () => this.parent.ask(type, { subagent: this.id }).catch(showError);
    const button = (label, kind, press, type = "button") =>
      el("button", { class: kind, type, on: press ? { click: press } : undefined }, label);
    const buttons = [
      active && button("Stop", "danger", ask("stop_subagent")),
      active && !info.background && button("Send to background", "plain", ask("move_subagent_to_background")),
      button("Close", "plain", () => this.dialog.close()),
      active && button("Send", "primary", null, "submit"),
    ];
    this.buttons.replaceChildren(...buttons.filter(Boolean));
  }

  #send() {
    const text = this.field.value.trim();
    if (!text) return;
    this.field.value = "";
    this.parent.askOnce("steer_subagent", { subagent: this.id, text }).catch(showError);
  }

  #closed() {
    this.#stop.abort();
    this.dialog.remove();
    this.parent.ask("unfollow_subagent", { subagent: this.id }).catch(() => {});
  }
}
