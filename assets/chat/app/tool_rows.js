// How the calls of each tool are shown, from the rows of the tools, which the server sends as `osierTools`.

import { line, plural, relative } from "./format.js";

/** The row of a tool; undefined for tools of servers and plugins. */
export const toolRow = (name) => globalThis.osierTools?.[name];

/** The subject of a call: the parts of its row whose arguments the call has, or its texts. */
export function subject(name, given, cwd) {
  const parts = toolRow(name)?.subject;
  if (!parts) return line(Object.values(given).filter((value) => typeof value === "string").join(" · "), 100);
  const shown = parts.map(({ before = "", argument, after = "", kind }) => {
    const text = PARTS[kind](given[argument], given, cwd);
    return text ? before + text + after : "";
  });
  return line(shown.join(""));
}

const text = (value) => (Array.isArray(value) ? value.join(" ") : typeof value === "string" ? value : "");

/** The text of a part by its kind. */
const PARTS = {
  text,
  command: text,
  page: text,
  path: (value, _, cwd) => relative(text(value), cwd),
  lines: (_, { offset, limit }) => (limit ? `${offset ?? 1}-${(offset ?? 1) + limit - 1}` : offset ? `${offset}-` : ""),
  patch: (value) =>
    [...text(value).matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): *(.+)$/gm)]
      .map(([, name]) => name.trim())
      .join(", "),
  questions: (value) =>
    value?.length > 1 ? `${value[0].question} (+${plural(value.length - 1, "question")})` : (value?.[0]?.question ?? ""),
  title: (value) => line(text(value).replace(/^[#\s]+/, "")),
  // The list itself is above the composer.
  progress: () => "",
};

/** How much a result is: `3 matches in 2 files`. */
export function counted(name, details) {
  const [first, ...others] = (toolRow(name)?.counts ?? []).filter(({ field }) => typeof details[field] === "number");
  if (!first || details.mimeType) return "";
  const shown = [first, ...others.filter(({ field }) => details[field] > 0)];
  return shown.map(({ field, one, many }) => plural(details[field], one, many)).join(" in ");
}
