// The session list: open sessions with their state, and stored sessions.

import { byId, el, iconButton } from "./dom.js";
import { basename, line, period, when } from "./format.js";

/** The meaning of the dot of an open session. */
const STATES = { working: "running", waiting: "waiting for an answer", idle: "idle", unread: "unread" };

export class SessionList {
  #rows = { open: [], stored: [] };

  /** `open(row)`, `menu(row, anchor)`. */
  constructor({ open, menu }) {
    Object.assign(this, { open, menu });
    this.root = byId("session-list");
  }

  /** `answer`: the response of the server; `here`: the ids of the current session. */
  show(answer, here = []) {
    const open = answer?.open ?? [];
    const known = new Set(open.flatMap(({ id, path }) => [id, path].filter(Boolean)));
    const stored = (answer?.stored ?? []).filter((row) => !known.has(row.id) && !known.has(row.path));
    this.#rows = { open, stored };
    this.draw(here);
  }

  draw(here = []) {
    const { open, stored } = this.#rows;
    const groups = [["Open", open.map((row) => this.#row(row, here, true))]];
    for (const row of stored) {
      const name = period(row.modified);
      if (groups.at(-1)[0] !== name) groups.push([name, []]);
      groups.at(-1)[1].push(this.#row(row, here, false));
    }
    const shown = groups.filter(([, rows]) => rows.length > 0);
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    this.root.replaceChildren(
      ...shown.flatMap(([name, rows]) => [el("h2", { class: "session-group" }, name), ...rows]),
    );
    if (shown.length === 0)
      this.root.append(el("p", { class: "empty" }, "Your sessions appear here."));
    if (focused) this.root.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }

  #row(row, here, isOpen) {
    const state = isOpen ? (row.state === "idle" && row.unread ? "unread" : (row.state ?? "idle")) : null;
    const name = row.name || line(row.firstPrompt, 90) || "New session";
    const dot =
      state &&
      el("span", { class: `dot ${state}`, title: STATES[state] }, el("span", { class: "unseen" }, STATES[state]));
    const time = row.modified;
    const where = [basename(row.cwd), isOpen ? "" : when(time)].filter(Boolean).join(" · ");
    const id = row.id;
    return el(
      "div",
      { class: `session${here.includes(id) ? " here" : ""}` },
      el(
        "button",
        {
          class: "session-open",
          type: "button",
          data: { id },
          "aria-current": here.includes(id) ? "true" : null,
          on: { click: () => this.open(row, isOpen) },
        },
        el("span", { class: "session-name" }, name),
        dot ?? el("span"),
        el("span", { class: "session-where", title: row.cwd }, where),
      ),
      iconButton("more", `Actions for ${name}`, (event) => this.menu(row, isOpen, event.currentTarget)),
    );
  }
}
