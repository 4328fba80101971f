// Answers side by side in one dialog: a column each, one below the other on a phone.

import { el } from "./dom.js";
import { dollars, duration, plural, tokens } from "./format.js";
import { show } from "./markdown.js";

/** Files of a column that are named. */
const NAMED = 12;

export class Board {
  #columns = new Map();

  /** `closed()` is called when the dialog goes, by whatever way. */
  constructor(title, closed = () => {}) {
    this.note = el("p", { class: "hint", role: "status" });
    this.grid = el("div", { class: "lanes" });
    this.footer = el("footer", {});
    this.dialog = el(
      "dialog",
      { class: "question board", "aria-label": title },
      el(
        "form",
        { method: "dialog" },
        el("header", {}, el("h2", {}, title), this.note),
        el("div", { class: "content" }, this.grid),
        this.footer,
      ),
    );
    this.dialog.addEventListener("close", () => (this.dialog.remove(), closed()));
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.dialog.querySelector("footer button:last-child")?.focus();
  }

  close() {
    this.dialog.close();
  }

  /** What can be done with all of them: `{label, kind, press}`; falsy ones are left out. */
  actions(actions) {
    const focused = this.footer.contains(document.activeElement);
    this.footer.replaceChildren(
      ...actions
        .filter(Boolean)
        .map(({ label, kind = "plain", press }) =>
          el("button", { class: kind, type: "button", on: { click: press } }, label),
        ),
    );
    if (focused) this.footer.lastChild?.focus();
  }

  /**
   * Shows the column `key`: `{title, state, text, live, error, facts, files, actions}`, where `files` are
   * `[path, {added, removed}]` and `actions` as above. What has not changed is left as it is.
   */
  column(key, { title, state, text, live, error, facts, files = [], actions = [] }) {
    const column = this.#columns.get(key) ?? this.#make(key, title);
    column.state.textContent = state ?? "";
    column.node.classList.toggle("live", Boolean(live));
    if (column.text !== text || column.live !== live) {
      Object.assign(column, { text, live });
      // What still grows comes often: it is laid out when it is whole.
      if (live) column.said.textContent = text;
      else if (text) show(column.said, text);
      else column.said.replaceChildren(el("p", { class: "hint" }, "It said nothing."));
      if (live) column.said.scrollTop = column.said.scrollHeight;
    }
    column.error.textContent = error ?? "";
    column.error.hidden = !error;
    column.facts.textContent = facts.filter(Boolean).join(" · ");
    column.files.replaceChildren(
      ...files.slice(0, NAMED).map(([path, { added, removed }]) =>
        el(
          "li",
          {},
          el("span", { class: "path", title: path }, path),
          el("span", { class: "plus" }, `+${added}`),
          el("span", { class: "minus" }, `−${removed}`),
        ),
      ),
      ...(files.length > NAMED ? [el("li", { class: "hint" }, `and ${files.length - NAMED} more`)] : []),
    );
    column.files.hidden = files.length === 0;
    column.actions.replaceChildren(
      ...actions.map(({ label, name, kind = "plain", press }) =>
        el(
          "button",
          { class: `${kind} wide`, type: "button", "aria-label": name, on: { click: press } },
          label,
        ),
      ),
    );
  }

  /** Leaves the columns of these keys in sight. */
  only(...keys) {
    for (const [key, { node }] of this.#columns) node.hidden = !keys.includes(key);
  }

  #make(key, title) {
    const column = {
      state: el("span", { class: "state" }),
      said: el("div", { class: "prose said-by", tabindex: "0", role: "region", "aria-label": `Answer of ${title}` }),
      error: el("p", { class: "failed", hidden: true }),
      facts: el("p", { class: "hint" }),
      files: el("ul", { class: "files", "aria-label": "Files" }),
      actions: el("div", { class: "lane-actions" }),
    };
    column.node = el(
      "article",
      { class: "lane", "aria-label": title },
      el("h3", {}, el("span", {}, title), column.state),
      column.said,
      column.error,
      column.files,
      column.facts,
      column.actions,
    );
    this.#columns.set(key, column);
    this.grid.append(column.node);
    return column;
  }
}

/** What a column has cost. */
export function spent({ durationMs, usage = {}, toolCalls, messages }) {
  return [
    durationMs ? duration(durationMs) : "",
    messages && plural(messages, "message"),
    toolCalls && plural(toolCalls, "call"),
    usage.output ? `${tokens(usage.output)} tokens` : "",
    dollars(usage.cost?.total),
  ];
}
