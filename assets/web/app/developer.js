// Developer mode: every frame that goes out and comes in, as it is.

import { el } from "./dom.js";

const KEY = "osier.developer";
/** Frames that are kept. */
const KEPT = 600;

export class Developer {
  #frames = [];
  #list = null;
  #filter = "";

  constructor(link, changed) {
    this.changed = changed;
    this.on = localStorage.getItem(KEY) === "on";
    for (const way of ["in", "out"]) link.addEventListener(way, ({ detail }) => this.#note(way, detail));
    this.#apply();
  }

  #apply() {
    document.body.classList.toggle("developer", this.on);
    this.changed(this.on);
  }

  /** The part of the drawer. */
  part() {
    const toggle = el(
      "button",
      { class: "switch", type: "button", role: "switch", "aria-checked": String(this.on) },
      "Developer mode",
    );
    const section = el(
      "section",
      { class: "part", "aria-label": "Developer mode" },
      toggle,
      this.on && this.#view(),
    );
    toggle.addEventListener("click", () => {
      this.on = !this.on;
      localStorage.setItem(KEY, this.on ? "on" : "off");
      this.#apply();
      const other = this.part();
      section.replaceWith(other);
      other.querySelector("button").focus();
    });
    return section;
  }

  #view() {
    const filter = el("input", {
      type: "search",
      placeholder: "Filter events",
      "aria-label": "Filter events",
      value: this.#filter,
    });
    const clear = el("button", { class: "plain", type: "button" }, "Clear");
    this.#list = el("div", {
      class: "events",
      role: "log",
      "aria-label": "Events",
      "aria-live": "off",
      tabindex: "0",
    });
    filter.addEventListener("input", () => ((this.#filter = filter.value), this.#fill()));
    clear.addEventListener("click", () => ((this.#frames = []), this.#fill()));
    this.#fill();
    return [el("div", { class: "events-tools" }, filter, clear), this.#list];
  }

  #note(way, frame) {
    const entry = { way, frame, at: new Date(), name: nameOf(frame) };
    this.#frames.push(entry);
    if (this.#frames.length > KEPT) this.#frames.shift();
    if (this.on && this.#list?.isConnected && this.#fits(entry)) this.#append(entry);
  }

  #fits({ name }) {
    return name.includes(this.#filter.trim());
  }

  #fill() {
    this.#list.replaceChildren(...this.#frames.filter((entry) => this.#fits(entry)).map(row));
    this.#list.scrollTop = this.#list.scrollHeight;
  }

  #append(entry) {
    const list = this.#list;
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    list.append(row(entry));
    if (list.children.length > KEPT) list.firstChild.remove();
    if (atEnd) list.scrollTop = list.scrollHeight;
  }
}

function nameOf({ type, command, payload }) {
  if (command) return command.type;
  return type === "event"
    ? (payload?.type ?? type)
    : type === "response"
      ? `response ${payload?.command ?? ""}`
      : type;
}

/** A frame; its text is made when it is opened. */
function row({ way, frame, at, name }) {
  const time = at.toISOString().slice(11, 23);
  const short = JSON.stringify(frame.command ?? frame.payload ?? frame).slice(0, 160);
  const node = el(
    "details",
    {},
    el(
      "summary",
      {},
      el("span", {}, time),
      el("span", { class: way }, way === "out" ? `→ ${name}` : `← ${name}`),
      el("span", {}, short),
    ),
  );
  node.addEventListener(
    "toggle",
    () => node.children.length < 2 && node.append(el("pre", {}, JSON.stringify(frame, null, 2))),
  );
  return node;
}
