// Others who are in the same session: how many, which of them writes, and writing instead of them.

import { byId, el } from "./dom.js";
import { complain } from "./toast.js";

/** The one who writes, when that is somebody else. */
export function writerBeside({ company }) {
  if (!company || company.writer === null || company.writer === company.you) return null;
  return company.clients.find(({ id }) => id === company.writer) ?? null;
}

/** How this browser is told to the others. */
export function ownName() {
  const system = /Android|iPhone|iPad|Windows|Mac|CrOS|Linux/.exec(navigator.userAgent)?.[0];
  return system ? `browser on ${system}` : "browser";
}

/** A word that only this page knows: it has its place again by it when its line was cut. */
export function ownKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The line above the composer. */
export class Company {
  constructor() {
    this.node = byId("company");
    this.words = el("span", { role: "status" });
    this.button = el(
      "button",
      { class: "plain", type: "button", hidden: true, on: { click: () => this.takeOver() } },
      "Take over",
    );
    this.node.append(this.words, this.button);
  }

  show(conversation) {
    this.conversation = conversation;
    this.update();
  }

  update() {
    const company = this.conversation?.company;
    const writer = company && writerBeside(this.conversation);
    const had = this.button === document.activeElement;
    this.node.hidden = !company;
    this.button.hidden = !writer;
    this.words.textContent = company ? words(company, writer) : "";
    this.words.title = company ? company.clients.map(({ name }) => name).join(", ") : "";
    if (had && !writer) byId("prompt").focus();
  }

  /** Writes from now on. */
  takeOver() {
    this.conversation.ask("take_over").catch(complain);
  }
}

function words({ clients, writer: pen }, writer) {
  const here = `${clients.filter(({ away }) => !away).length} here`;
  if (writer) return `${here} · ${writer.name} ${writer.away ? "is away" : "writes"}`;
  return pen === null ? here : `${here} · you write`;
}
