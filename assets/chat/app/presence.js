// Other clients of the session: how many are connected, who has control, and taking control.

import { byId, el } from "./dom.js";
import { showError } from "./toast.js";

/** The other client that has control, if any. */
export function otherWriter({ presence }) {
  if (!presence || presence.writer === null || presence.writer === presence.you) return null;
  return presence.clients.find(({ id }) => id === presence.writer) ?? null;
}

/** The name of this client, as others see it. */
export function clientName() {
  const system = /Android|iPhone|iPad|Windows|Mac|CrOS|Linux/.exec(navigator.userAgent)?.[0];
  return system ? `browser on ${system}` : "browser";
}

/** The secret by which the server recognizes this page after a reconnection. */
export function clientKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The status line above the input field. */
export class PresenceBar {
  constructor() {
    this.node = byId("presence");
    this.text = el("span", { role: "status" });
    this.button = el(
      "button",
      { class: "plain", type: "button", hidden: true, on: { click: () => this.takeOver() } },
      "Take control",
    );
    this.node.append(this.text, this.button);
  }

  show(conversation) {
    this.conversation = conversation;
    this.update();
  }

  update() {
    const presence = this.conversation?.presence;
    const writer = presence && otherWriter(this.conversation);
    // This page before a reload is away for a while.
    const isShown = Boolean(writer) || connected(presence) > 1;
    const hadFocus = this.button === document.activeElement;
    this.node.hidden = !isShown;
    this.button.hidden = !writer;
    this.text.textContent = isShown ? presenceText(presence, writer) : "";
    this.text.title = presence ? presence.clients.map(({ name }) => name).join(", ") : "";
    if (hadFocus && !writer) byId("prompt").focus();
  }

  /** Requests control of the session. */
  takeOver() {
    this.conversation.ask("take_over").catch(showError);
  }
}

/** The number of clients that are not away. */
const connected = (presence) => presence?.clients.filter(({ away }) => !away).length ?? 0;

function presenceText(presence, writer) {
  const { writer: holder } = presence;
  const here = `${connected(presence)} connected`;
  if (writer) return `${here} · ${writer.name} ${writer.away ? "is away" : "has control"}`;
  return holder === null ? here : `${here} · you have control`;
}
