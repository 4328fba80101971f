// Developer mode: shows every frame that the page sends and receives.

import { el } from "./dom.js";

const KEY = "osier.developer";
/** Most frames that are stored. */
const MAX_FRAMES = 600;

export class Developer {
  #frames = [];
  #list = null;
  #filter = "";

  constructor(connection, changed) {
    this.changed = changed;
    this.on = localStorage.getItem(KEY) === "on";
    for (const direction of ["in", "out"]) connection.addEventListener(direction, ({ detail }) => this.#note(direction, detail));
    this.#apply();
  }

  #apply() {
    document.body.classList.toggle("developer", this.on);
    this.changed(this.on);
  }

  /** The section of the advanced panel. */
  section() {
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
      const other = this.section();
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

  #note(direction, frame) {
    const entry = { direction, frame, at: new Date(), name: nameOf(frame) };
    this.#frames.push(entry);
    if (this.#frames.length > MAX_FRAMES) this.#frames.shift();
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
    if (list.children.length > MAX_FRAMES) list.firstChild.remove();
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

/** A frame. Its text is created when it is opened. */
function row({ direction, frame, at, name }) {
  const time = at.toISOString().slice(11, 23);
  const short = JSON.stringify(frame.command ?? frame.payload ?? frame).slice(0, 160);
  const node = el(
    "details",
    {},
    el(
      "summary",
      {},
      el("span", {}, time),
      el("span", { class: direction }, direction === "out" ? `→ ${name}` : `← ${name}`),
      el("span", {}, short),
    ),
  );
  node.addEventListener(
    "toggle",
    () => node.children.length < 2 && node.append(el("pre", {}, JSON.stringify(frame, null, 2))),
  );
  return node;
}
