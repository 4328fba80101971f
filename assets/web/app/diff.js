// Shows a unified diff with line numbers, and highlights the changed part of replaced lines.

import { el } from "./dom.js";

/** Lines that are shown at first. */
const INITIAL_LINES = 400;

/** Rows of a patch: `{kind, number, text, mark}`; `mark` is the changed range of the text. */
export function rows(patch) {
  const rows = [];
  let [before, after] = [0, 0];
  let removed = [];
  const added = [];
  const settle = () => {
    if (removed.length === added.length) removed.forEach((row, place) => markChange(row, added[place]));
    removed = [];
    added.length = 0;
  };
  for (const line of patch.replace(/\n$/, "").split("\n")) {
    if (line.startsWith("--- ") || line.startsWith("+++ ")) continue;
    const [sign, text] = [line[0], line.slice(1)];
    if (sign !== "+" && sign !== "-") settle();
    if (sign === "@") {
      const start = /^@@ -(\d+)\S* \+(\d+)/.exec(line);
      if (start) [before, after] = [Number(start[1]), Number(start[2])];
      rows.push({ kind: "hunk", text: line });
    } else if (sign === "-") {
      if (added.length) settle();
      removed.push({ kind: "del", number: before++, text });
      rows.push(removed.at(-1));
    } else if (sign === "+") {
      added.push({ kind: "add", number: after++, text });
      rows.push(added.at(-1));
    } else if (sign === "\\" || line.startsWith("diff --git ")) {
      rows.push({ kind: "note", text: line.replace(/^diff --git a\/.* b\//, "") });
    } else {
      rows.push({ kind: "same", number: after, text });
      before++;
      after++;
    }
  }
  settle();
  return rows;
}

/** Marks the text between the common start and end of two lines, unless they have too little in common. */
function markChange(old, now) {
  const [a, b] = [old.text, now.text];
  const most = Math.min(a.length, b.length);
  let start = 0;
  while (start < most && a[start] === b[start]) start++;
  let end = 0;
  while (end < most - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  if (start + end < most * 0.35) return;
  old.mark = [start, a.length - end];
  now.mark = [start, b.length - end];
}

/** Added and removed lines. */
export function counts(patch) {
  const count = (sign, head) =>
    patch.split("\n").filter((line) => line.startsWith(sign) && !line.startsWith(head)).length;
  return { added: count("+", "+++ "), removed: count("-", "--- ") };
}

const SIGNS = { add: "+", del: "−", same: "" };
const SPOKEN = { add: "added", del: "removed" };

function row({ kind, number, text, mark }) {
  if (!(kind in SIGNS)) return el("div", { class: kind }, text);
  const body = el("span", { class: "text" });
  if (mark && mark[1] > mark[0])
    body.append(text.slice(0, mark[0]), el("mark", {}, text.slice(...mark)), text.slice(mark[1]));
  else body.append(text);
  return el(
    "div",
    {
      class: `line ${kind}`,
      "aria-label": SPOKEN[kind] && `${SPOKEN[kind]}: ${text}`,
      role: SPOKEN[kind] && "group",
    },
    el("span", {}, String(number)),
    el("span", {}, SIGNS[kind]),
    body,
  );
}

export function diff(patch) {
  const all = rows(patch);
  const view = el(
    "div",
    { class: "diff", tabindex: "0", role: "region", "aria-label": "Changes" },
    all.slice(0, INITIAL_LINES).map(row),
  );
  if (all.length > INITIAL_LINES) {
    const more = el("button", { class: "more", type: "button" }, `Show ${all.length - INITIAL_LINES} more lines`);
    more.addEventListener("click", () => more.replaceWith(...all.slice(INITIAL_LINES).map(row)));
    view.append(more);
  }
  return view;
}
