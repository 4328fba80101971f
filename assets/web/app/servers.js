// The MCP servers of a session: how each stands, and what can be done about it.

import { el } from "./dom.js";
import { duration, plural } from "./format.js";

/** How a state is called and coloured, and the first thing to do about it. */
const STATES = {
  disabled: ["Off", "idle", ["enable", "Turn on"]],
  starting: ["Starting", "working", ["disable", "Turn off"]],
  ready: ["Ready", "good", ["disable", "Turn off"]],
  waiting: ["Starts again", "waiting", ["restart", "Start now"]],
  needs_login: ["Wants a sign-in", "waiting", ["login", "Sign in"]],
  failed: ["Failed", "bad", ["restart", "Start again"]],
};

/** The servers as a list. `act(name, action)` does something with one. */
export class ServerList {
  #shown = new Map();

  constructor(act) {
    this.act = act;
    this.node = el("ul", { class: "servers" });
  }

  /** Shows them as they stand now; a row that stands as before stays, and with it what has the focus. */
  show(servers) {
    const shown = this.#shown;
    this.#shown = new Map();
    for (const server of servers) {
      const facts = JSON.stringify(server);
      const known = shown.get(server.name);
      const node = known?.facts === facts ? known.node : el("li", {}, row(server, this.act));
      const had = known && known.node !== node && known.node.contains(document.activeElement);
      if (known) known.node.replaceWith(node);
      else this.node.append(node);
      if (had) node.querySelector("button").focus();
      shown.delete(server.name);
      this.#shown.set(server.name, { facts, node });
    }
    for (const { node } of shown.values()) node.remove();
  }
}

function row({ name, state, shown, error, version, tools, hiddenTools }, act) {
  const [word, colour, [action, label]] = STATES[state.type] ?? [state.type, "idle", ["restart", "Start again"]];
  const soon = state.type === "waiting" ? ` in ${duration(state.delayMs)}` : "";
  const facts = [version, state.type === "ready" && plural(tools.length, "tool"), hiddenTools > 0 && `${hiddenTools} hidden`];
  return [
    el("span", { class: `dot ${colour}`, "aria-hidden": "true" }),
    el("strong", { title: shown }, name),
    el("span", { class: "kind" }, word + soon),
    el(
      "button",
      { class: "plain", type: "button", "aria-label": `${label}: ${name}`, on: { click: () => act(name, action) } },
      label,
    ),
    el("p", { class: "hint" }, facts.filter(Boolean).join(" · ")),
    error && el("p", { class: "hint wrong" }, error),
  ];
}
