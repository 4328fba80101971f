// The files in the context of this branch as a tree: instructions, read, changed and attached files.

import { el } from "./dom.js";
import { relative, tokens } from "./format.js";
import { toolRow } from "./tool_rows.js";

const LABELS = { read: "read", changed: "changed", rules: "instructions", given: "attached" };
/** A later use hides an earlier one. */
const RANK = ["given", "read", "rules", "changed"];

/** The tree as an element; null if there are no files. */
export async function contextTree(conversation) {
  const found = new Map();
  const note = (path, use, size) => {
    const name = relative(path, conversation.facts.cwd);
    const known = found.get(name);
    if (!name || (known && RANK.indexOf(known.use) >= RANK.indexOf(use))) return;
    found.set(name, { use, size });
  };
  for (const call of conversation.calls.values()) {
    if (call.state !== "good") continue;
    const uses = toolRow(call.name)?.uses;
    if (!uses) continue;
    const { files, filePath } = call.result?.details ?? {};
    for (const file of files ?? []) if (file.kind !== "delete") note(file.filePath, uses);
    if (!files) note(filePath ?? call.arguments?.file_path, uses);
  }
  for (const { role, message } of conversation.items) {
    if (role === "user") message.attachments?.forEach(({ fileName }) => note(fileName, "given"));
  }
  const { parts } = await conversation.ask("list_context").catch(() => ({ parts: [] }));
  for (const part of parts ?? []) if (part.kind === "file") note(part.path, "rules", part.tokens);
  if (found.size === 0) return null;
  return branch(nest(found), true);
}

/** Nested maps of folders; files are `{use, size}`. */
function nest(found) {
  const root = new Map();
  for (const [path, file] of [...found].sort(([a], [b]) => a.localeCompare(b))) {
    const parts = path.split("/").filter(Boolean);
    const name = parts.pop();
    let folder = root;
    for (const part of parts) {
      if (!(folder.get(part) instanceof Map)) folder.set(part, new Map());
      folder = folder.get(part);
    }
    folder.set(name, { ...file, path });
  }
  return root;
}

function branch(folder, top = false) {
  const rows = [...folder].map(([name, child]) =>
    el("li", {}, child instanceof Map ? directory(name, child) : leaf(name, child)),
  );
  return el("ul", { class: top ? "tree-list" : null }, rows);
}

/** A directory. A directory that contains only another one is shown in the same row. */
function directory(name, folder) {
  while (folder.size === 1 && [...folder.values()][0] instanceof Map) {
    const [[inner, only]] = folder;
    [name, folder] = [`${name}/${inner}`, only];
  }
  return el(
    "details",
    { open: true },
    el("summary", {}, el("span", { class: "turn", "aria-hidden": "true" }, "▸"), `${name}/`),
    branch(folder),
  );
}

function leaf(name, { use, size, path }) {
  return el(
    "div",
    { class: "leaf", title: path },
    el("span", {}, name),
    size ? el("small", { class: "hint" }, tokens(size)) : null,
    el("i", { class: `tag ${use}` }, LABELS[use]),
  );
}
