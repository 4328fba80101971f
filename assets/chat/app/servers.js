// The MCP servers of a session: state and actions.

import { el } from "./dom.js";
import { duration, plural } from "./format.js";

/** Label, colour and action of each state. */
const STATES = {
  disabled: ["Off", "idle", ["enable", "Turn on"]],
  starting: ["Starting", "working", ["disable", "Turn off"]],
  ready: ["Ready", "good", ["disable", "Turn off"]],
  waiting: ["Restarting", "waiting", ["restart", "Restart now"]],
  needs_login: ["Needs sign-in", "waiting", ["login", "Sign in"]],
  failed: ["Failed", "bad", ["restart", "Restart"]],
};

/** The list of servers. `act(name, action)` runs an action on a server. */
export class ServerList {
  #shown = new Map();

  constructor(act) {
    this.act = act;
    this.node = el("ul", { class: "servers" });
  }

  /** Shows the servers. Unchanged rows are reused, which preserves the focus. */
  show(servers) {
    const shown = this.#shown;
    this.#shown = new Map();
    for (const server of servers) {
      const facts = JSON.stringify(server);
      const known = shown.get(server.name);
      const node = known?.facts === facts ? known.node : el("li", {}, row(server, this.act));
      const hadFocus = known && known.node !== node && known.node.contains(document.activeElement);
      if (known) known.node.replaceWith(node);
      else this.node.append(node);
      if (hadFocus) node.querySelector("button").focus();
      shown.delete(server.name);
      this.#shown.set(server.name, { facts, node });
    }
    for (const { node } of shown.values()) node.remove();
  }
}

function row({ name, state, shown, error, version, tools, hiddenTools }, act) {
  const [text, colour, [action, label]] = STATES[state.type] ?? [state.type, "idle", ["restart", "Restart"]];
  const delay = state.type === "waiting" ? ` in ${duration(state.delayMs)}` : "";
  const facts = [version, state.type === "ready" && plural(tools.length, "tool"), hiddenTools > 0 && `${hiddenTools} hidden`];
  return [
    el("span", { class: `dot ${colour}`, "aria-hidden": "true" }),
    el("strong", { title: shown }, name),
    el("span", { class: "kind" }, text + delay),
    el(
      "button",
      { class: "plain", type: "button", "aria-label": `${label}: ${name}`, on: { click: () => act(name, action) } },
      label,
    ),
    el("p", { class: "hint" }, facts.filter(Boolean).join(" · ")),
    error && el("p", { class: "hint wrong" }, error),
  ];
}
