// Two branches of a session beside each other: what each answered, did, cost and changed.

import { Board, spent } from "./board.js";
import { complain } from "./toast.js";

/** A file of a copy that a model has worked in is the file of that name here. */
const own = (path) => path.replace(/^.*\/fans\/fan-[^/]+\/files\//, "");

/** Puts the branch in sight, of which `item` is a part, beside the next one. */
export async function compareBranches(item, conversation) {
  const { tree } = conversation;
  const found = tree.siblings(item.entryId);
  const others = tree.beside(item.entryId);
  const board = new Board(`Branch ${found.place} and another`);
  let other = others.find(({ id }) => id === (found.after ?? found.before)) ?? others[0];
  const go = (leaf) => {
    board.close();
    conversation.ask("branch", { entryId: leaf }).catch(complain);
  };
  const fill = async () => {
    const { comparison } = await conversation.ask("compare_branches", {
      left: tree.end(item.entryId),
      right: tree.end(other.id),
    });
    const sides = [
      ["here", `Branch ${found.place}, in sight`, comparison.left, null],
      ["there", `Branch ${other.place}`, comparison.right, () => go(tree.end(other.id))],
    ];
    for (const [key, title, facts, press] of sides)
      board.column(key === "here" ? key : other.id, {
        title,
        state: facts.models.join(", "),
        text: facts.answer,
        facts: spent(facts),
        files: Object.entries(facts.files).map(([path, changes]) => [own(path), changes]),
        actions: press ? [{ label: "Go there", name: `Go there: branch ${other.place}`, kind: "primary", press }] : [],
      });
    board.only("here", other.id);
    const next = others[(others.indexOf(other) + 1) % others.length];
    board.actions([
      others.length > 1 && {
        label: `Beside branch ${next.place}`,
        press: () => ((other = next), fill().catch(complain)),
      },
      { label: "Close", press: () => board.close() },
    ]);
  };
  await fill();
  board.open();
}
