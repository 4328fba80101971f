// The files as they were at a message: what going back would do is shown first, and can be undone.

import { diff } from "./diff.js";
import { el } from "./dom.js";
import { plural } from "./format.js";
import { complain, toast } from "./toast.js";

/** What becomes of a file. */
const KINDS = { create: "comes back", modify: "changes back", mode: "gets its permissions back", remove: "goes" };

/** Asks, and brings the files back to how they were before a prompt, or behind any other message. */
export async function restoreFiles(item, conversation) {
  const at = { at: "entry", entryId: item.entryId };
  const { known, changes } = await conversation.ask("preview_files", { at });
  if (!known) return toast("How the files were at this place was not recorded.", "warning");
  if (changes.length === 0) return toast("The files are as they were there.");
  const place = item.role === "user" ? "before this message" : "after this answer";
  const wish = await confirm(`The files as they were ${place}`, changes, () => since(conversation, item.entryId));
  if (wish) await conversation.ask("restore_files", { at, byHand: wish.byHand });
}

/** Tells what was brought back, and offers to undo it. */
export function tellRestored({ changes, left }, conversation) {
  const undo = { label: "Undo", press: () => conversation.ask("undo_restore").catch(complain) };
  if (changes.length > 0) toast(`${plural(changes.length, "file is", "files are")} as before.`, "info", undo);
  for (const { path, reason } of left.slice(0, 2)) toast(`${path} stays: ${reason}`, "warning");
}

/** How files have changed since a place, by path. */
async function since(conversation, from) {
  const range = { over: "between", from, to: null };
  const { files } = await conversation.ask("read_file_diffs", { range });
  return new Map(files.map((file) => [file.path, file.diff]));
}

/** Gives `{byHand}`, or nothing. */
function confirm(title, changes, diffs) {
  return new Promise((resolve) => {
    const open = changes.filter(({ obstacle }) => !obstacle);
    const byHand = open.filter((change) => change.byHand);
    const box = el("input", { type: "checkbox" });
    const go = el("button", { class: "primary", value: "yes" });
    const count = () => {
      const number = box.checked ? open.length : open.length - byHand.length;
      go.textContent = `Bring back ${plural(number, "file")}`;
      go.disabled = number === 0;
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
        el("header", {}, el("h2", {}, title), el("p", { class: "origin" }, "What the agent and you have changed since then.")),
        el(
          "div",
          { class: "content" },
          el(
            "ul",
            { class: "changes", "aria-label": "Files" },
            changes.map((change) => el("li", {}, file(change, () => (asked ??= diffs())))),
          ),
          byHand.length > 0 && el("label", { class: "grant" }, box, el("span", {}, "Also those that were changed by hand")),
        ),
        el("footer", {}, el("button", { class: "plain", value: "no" }, "Cancel"), go),
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

/** A file; its changes are read when it is opened. */
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
      el("span", { class: "kind" }, obstacle ? `stays: ${obstacle}` : KINDS[kind]),
    ),
    body,
  );
  node.addEventListener(
    "toggle",
    () =>
      diffs().then(
        (found) => body.replaceChildren(found.get(path) ? diff(found.get(path)) : el("p", { class: "hint" }, "There is no text to show.")),
        complain,
      ),
    { once: true },
  );
  return node;
}
