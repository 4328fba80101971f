// The actions of a message: label, condition and effect.

import { compareBranches } from "./branches.js";
import { copy } from "./markdown.js";
import { askLine, openMenu } from "./menu.js";
import { restoreFiles } from "./restore.js";
import { showError, toast } from "./toast.js";

/** The text to copy. */
export function textOf({ role, message }) {
  if (role === "assistant")
    return message.content
      .filter((block) => block?.type === "text")
      .map((block) => block.text)
      .join("\n\n");
  return message.text ?? message.summary ?? message.output ?? "";
}

const stored = (item) => Boolean(item.entryId);
const prompt = (item) => item.role === "user" && stored(item);
const last = (item, { conversation }) => conversation.items.findLast((other) => other.role === "user") === item;

/** `fits(item, page)`: whether the action is offered; `run(item, page, more)`: its effect. */
export const ACTIONS = {
  copy: {
    icon: "copy",
    label: "Copy",
    fits: (item) => Boolean(textOf(item)),
    run: (item) => copy(textOf(item)).then(() => toast("Copied")),
  },
  select: {
    icon: "name",
    label: "Select text",
    fits: () => matchMedia("(pointer: coarse)").matches,
    run: async (item) => {
      const node = document.querySelector(`.message[data-key="${item.key}"]`);
      node.classList.add("selectable");
      getSelection().selectAllChildren(node.querySelector(".prompt-text, .blocks") ?? node);
    },
  },
  edit: {
    icon: "edit",
    label: "Edit and send again",
    fits: prompt,
    run: (item, { composer }) => composer.edit(item),
  },
  retry: {
    icon: "retry",
    label: "Retry",
    fits: (item, page) =>
      stored(item) && (item.role === "assistant" || prompt(item)) && Boolean(promptOf(item, page)),
    async run(item, page) {
      while (!promptOf(item, page) && !page.conversation.atStart) await page.conversation.loadEarlier();
      const prompt = promptOf(item, page);
      if (!prompt) throw new Error("This answer has no prompt to send again.");
      await again(prompt, page);
    },
  },
  several: {
    icon: "several",
    label: "Run several models",
    fits: (item, page) => {
      const asked = stored(item) && promptOf(item, page);
      return Boolean(asked) && last(asked, page);
    },
    run: (_, page) => page.fan(),
  },
  compare: {
    icon: "columns",
    label: "Compare branches",
    fits: (item, { conversation }) => stored(item) && Boolean(conversation.tree.siblings(item.entryId)),
    run: (item, { conversation }) => compareBranches(item, conversation),
  },
  branch: {
    icon: "branch",
    label: "Continue from here",
    fits: (item) => stored(item) && item.role !== "user",
    run: (item, { conversation, composer }) =>
      conversation.ask("branch", { entryId: item.entryId }).then(() => composer.field.focus()),
  },
  fork: { icon: "fork", label: "Fork into a new session", fits: stored, run: (item, page) => page.fork(item) },
  files: {
    icon: "files",
    label: "Restore files to this point",
    fits: (item) => stored(item) && ["user", "assistant"].includes(item.role),
    run: (item, { conversation }) => restoreFiles(item, conversation),
  },
  label: {
    icon: "name",
    label: "Label",
    fits: prompt,
    async run(item, { conversation }) {
      const name = await askLine("Label this message", conversation.tree.labelOf(item.entryId) ?? "");
      if (name !== null) await conversation.ask("label_entry", { entryId: item.entryId, label: name });
    },
  },
  sibling: {
    fits: () => false,
    run: (_, { conversation }, target) => conversation.ask("branch", { entryId: conversation.tree.end(target) }),
  },
};

/** The prompt of a message: the message itself, or the one that it answers. */
function promptOf(item, { conversation }) {
  const place = conversation.items.indexOf(item);
  return conversation.items.slice(0, place + 1).findLast(prompt);
}

/** Sends a prompt again, as a new branch. */
async function again(item, page) {
  const { conversation } = page;
  if (last(item, page)) return conversation.ask("retry_prompt");
  await conversation.ask("move_to", { entryId: item.entryId });
  await conversation.ask("prompt", { message: item.message.text, attachments: item.message.attachments ?? [] });
}

export function act(name, item, page, more) {
  if (!["copy", "select", "edit", "compare"].includes(name) && page.conversation.running)
    return toast("Stop the agent first.", "warning");
  Promise.resolve(ACTIONS[name].run(item, page, more)).catch(showError);
}

export function messageMenu(item, page, anchor) {
  const items = Object.entries(ACTIONS).filter(([, action]) => action.fits(item, page));
  openMenu(
    "Message",
    items.map(([name, { icon, label }]) => ({ icon, label, press: () => act(name, item, page) })),
    anchor,
  );
}
