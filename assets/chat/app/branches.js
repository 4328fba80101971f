// Compares two branches of a session: answer, counts, cost and changed files.

import { ColumnDialog, columnFacts } from "./column_dialog.js";
import { showError } from "./toast.js";

/** Maps a file in the working copy of a model to the file of the session. */
const sessionPath = (path) => path.replace(/^.*\/fans\/fan-[^/]+\/files\//, "");

/** Compares the current branch, which contains `item`, with the next one. */
export async function compareBranches(item, conversation) {
  const { tree } = conversation;
  const found = tree.siblings(item.entryId);
  const others = tree.alternatives(item.entryId);
  const dialog = new ColumnDialog(`Compare branch ${found.place}`);
  let other = others.find(({ id }) => id === (found.after ?? found.before)) ?? others[0];
  const switchTo = (leaf) => {
    dialog.close();
    conversation.ask("branch", { entryId: leaf }).catch(showError);
  };
  const fill = async () => {
    const { comparison } = await conversation.ask("compare_branches", {
      left: tree.end(item.entryId),
      right: tree.end(other.id),
    });
    const sides = [
      ["here", `Branch ${found.place} (current)`, comparison.left, null],
      ["there", `Branch ${other.place}`, comparison.right, () => switchTo(tree.end(other.id))],
    ];
    for (const [key, title, facts, press] of sides)
      dialog.column(key === "here" ? key : other.id, {
        title,
        state: facts.models.join(", "),
        text: facts.answer,
        facts: columnFacts(facts),
        files: Object.entries(facts.files).map(([path, changes]) => [sessionPath(path), changes]),
        actions: press ? [{ label: "Switch to this branch", name: `Switch to this branch: ${other.place}`, kind: "primary", press }] : [],
      });
    dialog.showOnly("here", other.id);
    const next = others[(others.indexOf(other) + 1) % others.length];
    dialog.actions([
      others.length > 1 && {
        label: `Compare with branch ${next.place}`,
        press: () => ((other = next), fill().catch(showError)),
      },
      { label: "Close", press: () => dialog.close() },
    ]);
  };
  await fill();
  dialog.open();
}
