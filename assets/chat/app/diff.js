// Shows a unified diff with line numbers and in colours, and marks the changed part of replaced lines.

import { el } from "./dom.js";
import { highlight } from "./markdown.js";

/** Lines that are shown at first. */
const INITIAL_LINES = 400;
/** Longest line that is coloured, in characters. */
const LONG_LINE = 2_000;

/** Whether line `at` is part of a file header. A changed line can begin like one, such as a removed SQL comment. */
function isHeader(lines, at) {
  const start = lines[at].startsWith("+++ ") ? at - 1 : at;
  return ["--- ", "+++ ", "@@ "].every((begin, place) => lines[start + place]?.startsWith(begin));
}

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
  const lines = patch.replace(/\n$/, "").split("\n");
  for (const [at, line] of lines.entries()) {
    if (isHeader(lines, at)) continue;
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
  const lines = patch.split("\n");
  const count = (sign) => lines.filter((line, at) => line.startsWith(sign) && !isHeader(lines, at)).length;
  return { added: count("+"), removed: count("-") };
}

const SIGNS = { add: "+", del: "−", same: "" };
const SPOKEN = { add: "added", del: "removed" };

function row({ kind, number, text, mark }) {
  if (!(kind in SIGNS)) return el("div", { class: kind }, text);
  const body = el("span", { class: "text" }, text);
  markText(body, mark);
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

/** Marks a range of the text of `body`, across its spans. */
function markText(body, mark) {
  let start = 0;
  for (const part of mark && mark[1] > mark[0] ? [...body.childNodes] : []) {
    const text = part.textContent;
    const [from, to] = mark.map((place) => Math.min(Math.max(place - start, 0), text.length));
    start += text.length;
    if (from === to) continue;
    const marked = el("mark", {}, text.slice(from, to));
    const pieces = [text.slice(0, from), marked, text.slice(to)].filter(Boolean);
    if (part.nodeType === Node.TEXT_NODE) part.replaceWith(...pieces);
    else part.replaceChildren(...pieces);
  }
}

/** Colours the rows of one side of a file. */
async function colour(language, side) {
  const lines = await highlight(
    language,
    side.map(({ text }) => text),
  );
  side.forEach(({ mark, node }, place) => {
    const body = node?.querySelector(".text");
    if (!lines?.[place] || !body) return;
    body.replaceChildren(lines[place]);
    markText(body, mark);
  });
}

/**
 * Colours the rows with the grammar for the name of their file; without it, they stay as they are. Removed lines are read by
 * themselves, all others together.
 */
function colourRows(all, path) {
  let name = path ?? "";
  const sides = new Map();
  for (const row of all) {
    if (row.kind === "note" && !row.text.startsWith("\\")) name = row.text;
    const language = /\.([\w+#-]+)$/.exec(name)?.[1];
    if (!language || row.text.length > LONG_LINE) continue;
    if (!(row.kind in SIGNS)) continue;
    const key = `${name} ${row.kind === "del"}`;
    if (!sides.has(key)) sides.set(key, { language, side: [] });
    sides.get(key).side.push(row);
  }
  for (const { language, side } of sides.values()) colour(language, side).catch(() => {});
}

/** The view of a patch; `path` names its file if the patch does not. */
export function diff(patch, path) {
  const all = rows(patch);
  const view = el(
    "div",
    { class: "diff", tabindex: "0", role: "region", "aria-label": "Changes" },
    all.slice(0, INITIAL_LINES).map((one) => (one.node = row(one))),
  );
  colourRows(all.slice(0, INITIAL_LINES), path);
  if (all.length > INITIAL_LINES) {
    const more = el("button", { class: "more", type: "button" }, `Show ${all.length - INITIAL_LINES} more lines`);
    more.addEventListener("click", () => {
      more.replaceWith(...all.slice(INITIAL_LINES).map((one) => (one.node = row(one))));
      colourRows(all.slice(INITIAL_LINES), path);
    });
    view.append(more);
  }
  return view;
}
