// Restores the files as of a message: shows the changes first, and can be undone.

import { diff } from "./diff.js";
import { el } from "./dom.js";
import { plural } from "./format.js";
import { showError, toast } from "./toast.js";

/** The change of a file. */
const KINDS = { create: "will be restored", modify: "will be reverted", mode: "mode will be reverted", remove: "will be deleted" };

/** Asks, then restores the files to the state before a prompt or after another message. */
export async function restoreFiles(item, conversation) {
  const at = { at: "entry", entryId: item.entryId };
  const { known, changes } = await conversation.ask("preview_files", { at });
  if (!known) return toast("No checkpoint of the files at this point.", "warning");
  if (changes.length === 0) return toast("No files differ from this point.");
  const place = item.role === "user" ? "before this message" : "after this answer";
  const choice = await confirm(`Restore files to the state ${place}`, changes, () => diffsSince(conversation, item.entryId));
  if (choice) await conversation.ask("restore_files", { at, byHand: choice.byHand });
}

/** Shows what was restored, with an undo button. */
export function showRestored({ changes, left }, conversation) {
  const undo = { label: "Undo", press: () => conversation.ask("undo_restore").catch(showError) };
  if (changes.length > 0) toast(`${plural(changes.length, "file")} restored.`, "info", undo);
  for (const { path, reason } of left.slice(0, 2)) toast(`${path} was not restored: ${reason}`, "warning");
}

/** The diffs since an entry, by path. */
async function diffsSince(conversation, from) {
  const range = { over: "between", from, to: null };
  const { files } = await conversation.ask("read_file_diffs", { range });
  return new Map(files.map((file) => [file.path, file.diff]));
}

/** Returns `{byHand}`, or null when cancelled. */
function confirm(title, changes, diffs) {
  return new Promise((resolve) => {
    const open = changes.filter(({ obstacle }) => !obstacle);
    const byHand = open.filter((change) => change.byHand);
    const box = el("input", { type: "checkbox" });
    const submit = el("button", { class: "primary", value: "yes" });
    const count = () => {
      const number = box.checked ? open.length : open.length - byHand.length;
      submit.textContent = `Restore ${plural(number, "file")}`;
      submit.disabled = number === 0;
    };
    box.addEventListener("change", count);
    count();
    let asked = null;
    const dialog = el(
      "dialog",
      { class: "question", "aria-label": title },
      el(
        "form",
        { method: "dialog" },
        el("header", {}, el("h2", {}, title), el("p", { class: "origin" }, "Changes since then, by the agent and by you.")),
        el(
          "div",
          { class: "content" },
          el(
            "ul",
            { class: "changes", "aria-label": "Files" },
            changes.map((change) => el("li", {}, file(change, () => (asked ??= diffs())))),
          ),
          byHand.length > 0 && el("label", { class: "grant" }, box, el("span", {}, "Include files changed by hand")),
        ),
        el("footer", {}, el("button", { class: "plain", value: "no" }, "Cancel"), submit),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? { byHand: box.checked } : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A file. Its diff is read when it is opened. */
function file({ path, kind, byHand, obstacle }, diffs) {
  const body = el("div", { class: "change-body" });
  const node = el(
    "details",
    { class: `change ${kind}` },
    el(
      "summary",
      {},
      el("span", { class: "turn", "aria-hidden": "true" }, "▸"),
      el("span", { class: "path" }, path),
      byHand && el("i", { class: "tag by-hand" }, "changed by hand"),
      el("span", { class: "kind" }, obstacle ? `will be skipped: ${obstacle}` : KINDS[kind]),
    ),
    body,
  );
  node.addEventListener(
    "toggle",
    () =>
      diffs().then(
        (found) => body.replaceChildren(found.get(path) ? diff(found.get(path), path) : el("p", { class: "hint" }, "No text changes.")),
        showError,
      ),
    { once: true },
  );
  return node;
}
