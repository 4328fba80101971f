// A dialog that compares answers in columns; on a phone, one below the other.

import { counts, diff as diffView } from "./diff.js";
import { el } from "./dom.js";
import { dollars, duration, plural, tokens } from "./format.js";
import { show } from "./markdown.js";

/** Most files that a column lists. */
const MAX_FILES = 12;

export class ColumnDialog {
  #columns = new Map();

  /** `closed()` is called when the dialog closes. */
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

  /** Sets the buttons of the dialog: `{label, kind, press}`; falsy entries are skipped. */
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
   * `[path, {added, removed, diff}]` and `actions` as above. Unchanged parts are not rendered again.
   */
  column(key, { title, state, text, live, error, facts, files = [], actions = [] }) {
    const column = this.#columns.get(key) ?? this.#make(key, title);
    column.state.textContent = state ?? "";
    column.node.classList.toggle("live", Boolean(live));
    if (column.text !== text || column.live !== live) {
      Object.assign(column, { text, live });
      // A growing text changes often: render its Markdown only when it is complete.
      if (live) column.answer.textContent = text;
      else if (text) show(column.answer, text);
      else column.answer.replaceChildren(el("p", { class: "hint" }, "No answer."));
      if (live) column.answer.scrollTop = column.answer.scrollHeight;
    }
    column.error.textContent = error ?? "";
    column.error.hidden = !error;
    column.facts.textContent = facts.filter(Boolean).join(" · ");
    // Other files would close the diffs that are open.
    if (!sameFiles(column.shown, files)) {
      column.shown = files;
      const more = files.length - MAX_FILES;
      column.files.replaceChildren(
        ...files.slice(0, MAX_FILES).map(([path, changes]) => el("li", {}, changedFile(path, changes))),
        ...(more > 0 ? [el("li", { class: "hint" }, `and ${more} more`)] : []),
      );
    }
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

  /** Hides all columns except these. */
  showOnly(...keys) {
    for (const [key, { node }] of this.#columns) node.hidden = !keys.includes(key);
  }

  #make(key, title) {
    const column = {
      state: el("span", { class: "state" }),
      answer: el("div", { class: "prose lane-answer", tabindex: "0", role: "region", "aria-label": `Answer of ${title}` }),
      error: el("p", { class: "failed", hidden: true }),
      facts: el("p", { class: "hint" }),
      files: el("ul", { class: "files", "aria-label": "Files" }),
      actions: el("div", { class: "lane-actions" }),
    };
    column.node = el(
      "article",
      { class: "lane", "aria-label": title },
      el("h3", {}, el("span", {}, title), column.state),
      column.answer,
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

function sameFiles(old, files) {
  return (
    old?.length === files.length &&
    files.every(([path, { added, removed, diff }], place) => {
      const [oldPath, before] = old[place];
      return path === oldPath && added === before.added && removed === before.removed && diff === before.diff;
    })
  );
}

/** A file with its diff, which is made when it is opened. */
function changedFile(path, { added, removed, diff }) {
  const body = el("div", { class: "change-body" });
  const node = el(
    "details",
    { class: "change" },
    el(
      "summary",
      {},
      el("span", { class: "turn", "aria-hidden": "true" }, "▸"),
      el("span", { class: "path", title: path }, path),
      el("span", { class: "plus" }, `+${added}`),
      el("span", { class: "minus" }, `−${removed}`),
    ),
    body,
  );
  node.addEventListener("toggle", () => body.replaceChildren(...changes(path, { added, removed, diff })), { once: true });
  return node;
}

/** The diff of a file, and a note about omitted parts: the server limits its size. */
function changes(path, { added, removed, diff }) {
  const note = (text) => el("p", { class: "hint" }, text);
  if (!/^@@ /m.test(diff)) return [note("Binary, or too large to show.")];
  const shown = counts(diff);
  const isComplete = shown.added >= added && shown.removed >= removed && endsWithHunk(diff);
  // The last line may be cut.
  const view = diffView(isComplete ? diff : diff.slice(0, diff.lastIndexOf("\n") + 1), path);
  // Landmarks need different names, and both columns can have this file.
  view.setAttribute("role", "group");
  return [view, !isComplete && note("Too large to show completely.")].filter(Boolean);
}

/** Whether the last hunk of a diff has all lines that its header names. */
function endsWithHunk(diff) {
  const lines = diff.replace(/\n$/, "").split("\n");
  const start = lines.findLastIndex((line) => line.startsWith("@@ "));
  const header = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(lines[start]);
  const count = (sign) => lines.slice(start + 1).filter((line) => line[0] === sign || line[0] === " ").length;
  return Boolean(header) && count("-") >= Number(header[1] ?? 1) && count("+") >= Number(header[2] ?? 1);
}

/** Duration, counts and cost of a column. */
export function columnFacts({ durationMs, usage = {}, toolCalls, messages }) {
  return [
    durationMs ? duration(durationMs) : "",
    messages && plural(messages, "message"),
    toolCalls && plural(toolCalls, "call"),
    usage.output ? `${tokens(usage.output)} tokens` : "",
    dollars(usage.cost?.total),
  ];
}
