// The session list: open sessions with their state, and stored sessions.

import { byId, el, iconButton } from "./dom.js";
import { basename, line, period, when } from "./format.js";

/** The meaning of the dot of an open session. */
const STATES = { working: "running", waiting: "waiting for an answer", idle: "idle", unread: "unread" };

/** The name, else the first prompt. The title of an unnamed fork also names its source. */
function listTitle({ name, firstPrompt, lastPrompt, forkOf }) {
  if (name && name !== forkOf) return name;
  if (!forkOf) return firstPrompt ?? "";
  return lastPrompt ? `fork of ${line(forkOf, 24)}: ${lastPrompt}` : `fork of ${line(forkOf, 24)}`;
}

export class SessionList {
  #rows = { open: [], stored: [] };
  /** The words to search for, and what was found: `null` before an answer. */
  words = "";
  #found = null;

  /** `open(row)`, `menu(row, anchor)`. */
  constructor({ open, menu }) {
    Object.assign(this, { open, menu });
    this.root = byId("session-list");
  }

  /** The state of the current session, without waiting for the next list. */
  update(here, state) {
    const row = this.#rows.open.find(({ id }) => id === here);
    if (!row || row.state === state) return;
    row.state = state;
    this.draw(here);
  }

  /** `found`: the result of `find_sessions`, which knows pinned and archived sessions; `null` for none. */
  showFound(found, here) {
    this.#found = found?.sessions && found.ready !== false ? found : null;
    this.draw(here);
  }

  /** The stored sessions: those that were found, or those of the list. */
  #stored() {
    if (!this.#found) return this.#rows.stored.filter((row) => this.#fits(row));
    const open = new Set(this.#rows.open.map(({ id }) => id));
    return this.#found.sessions
      .map(({ session, pinned, archived, hit }) => ({ ...session, modified: session.active, pinned, archived, hit }))
      .filter(({ id }) => !open.has(id));
  }

  #fits(row) {
    const text = `${listTitle(row)} ${row.firstPrompt ?? ""} ${row.cwd}`.toLowerCase();
    return this.words
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word));
  }

  /** `answer`: the response of the server; `here`: the id of the current session. */
  show(answer, here) {
    const open = answer?.open ?? [];
    const known = new Set(open.flatMap(({ id, path }) => [id, path].filter(Boolean)));
    const stored = (answer?.stored ?? []).filter((row) => !known.has(row.id) && !known.has(row.path));
    this.#rows = { open, stored };
    this.draw(here);
  }

  draw(here) {
    const open = this.#rows.open.filter((row) => this.#fits(row));
    const stored = this.#stored();
    const groups = [["Open", open.map((row) => this.#row(row, here, true))]];
    for (const row of stored) {
      const name = row.archived ? "Archived" : row.pinned ? "Pinned" : period(row.modified);
      if (groups.at(-1)[0] !== name) groups.push([name, []]);
      groups.at(-1)[1].push(this.#row(row, here, false));
    }
    const shown = groups.filter(([, rows]) => rows.length > 0);
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    this.root.replaceChildren(
      ...shown.flatMap(([name, rows]) => [el("h2", { class: "session-group" }, name), ...rows]),
    );
    if (shown.length === 0)
      this.root.append(el("p", { class: "empty" }, this.words ? "No session found." : "Your sessions appear here."));
    if (focused) this.root.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }

  #row(row, here, isOpen) {
    const state = isOpen ? (row.state === "idle" && row.unread ? "unread" : (row.state ?? "idle")) : null;
    const name = line(listTitle(row), 90) || "New session";
    const dot =
      state &&
      el("span", { class: `dot ${state}`, title: STATES[state] }, el("span", { class: "unseen" }, STATES[state]));
    const time = row.modified;
    const where = [basename(row.cwd), isOpen ? "" : when(time)].filter(Boolean).join(" · ");
    const id = row.id;
    return el(
      "div",
      { class: `session${here === id ? " here" : ""}` },
      el(
        "button",
        {
          class: "session-open",
          type: "button",
          data: { id },
          "aria-current": here === id ? "true" : null,
          on: { click: () => this.open(row, isOpen) },
        },
        el("span", { class: "session-name" }, name),
        dot ?? el("span"),
        el("span", { class: "session-where", title: row.cwd }, where),
        row.hit?.text && el("span", { class: "session-hit" }, String(row.hit.text)),
      ),
      iconButton("more", `Actions for ${name}`, (event) => this.menu(row, isOpen, event.currentTarget)),
    );
  }
}
