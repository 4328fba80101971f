// Slash commands in the chat. The server has their table and runs those that are requests; the others are here.

import { signIn } from "./accounts.js";
import { textOf } from "./actions.js";
import { byId } from "./dom.js";
import { toggleSide } from "./shell.js";
import { setTheme } from "./theme.js";
import { toast } from "./toast.js";
import { showUsage } from "./usage.js";

const panel = (page) => page.drawer.toggle(true);
const fail = (text) => {
  throw new Error(text);
};
/** Opens something here; with an argument, the server runs the command. */
const bare = (open) => (page, argument, run) => (argument ? run() : open(page));

const lastPrompt = ({ conversation }) =>
  conversation.items.findLast(({ role, entryId }) => role === "user" && entryId) ?? fail("There is no prompt yet.");
const lastAnswer = ({ conversation }) =>
  conversation.items.findLast((item) => item.role === "assistant" && textOf(item).trim()) ??
  fail("There is no answer yet.");

const forkCommand = (where) => (where === "worktree" ? "fork_worktree" : fail("Expected `/fork` or `/fork worktree`."));

/** `run(page, argument, run on the server)` by name. */
const COMMANDS = {
  archive: (page, value) => page.mark("archived", value !== "off"),
  clone: async (page) => {
    await page.copy("clone");
    toast("Cloned: this new session has a copy of the conversation.");
  },
  close: (page) => page.closeCurrent(),
  context: panel,
  copy: (page) => page.act("copy", lastAnswer(page)),
  export: bare((page) => page.export({ format: "html" })),
  fork: (page, where) => (where ? page.copy(forkCommand(where)) : page.fork(lastPrompt(page))),
  help: () => {
    const field = byId("prompt");
    field.value = "/";
    field.dispatchEvent(new Event("input"));
  },
  login: (page, provider) => signIn(page.conversation, provider || null),
  mcp: bare(panel),
  model: bare((page) => page.chooseModel()),
  name: bare((page) => page.rename()),
  new: (page) => page.create(),
  permissions: (page, mode) => (mode ? page.conversation.ask("set_permissions", { mode }) : page.chooseMode()),
  pin: (page, value) => page.mark("pinned", value !== "off"),
  quit: () => fail("Close the browser tab to leave. The session continues to run."),
  restore: (page, what) =>
    what ? fail("The chat restores files to the last prompt: `/restore`.") : page.act("files", lastPrompt(page)),
  resume: (_, id) => findSession(id),
  session: panel,
  sessions: (_, words) => findSession(words),
  theme: (_, name) =>
    ["light", "dark", "system"].includes(name)
      ? setTheme(name)
      : fail("The chat has the themes `light`, `dark` and `system`."),
  thinking: bare(panel),
  undo: async ({ conversation, composer }, what) => {
    if (what) return fail("The chat undoes the conversation; Restore files is in the menu of a message.");
    const { prompt } = await conversation.ask("undo_prompt");
    if (prompt?.text ?? prompt) composer.insert(prompt.text ?? prompt);
  },
  usage: ({ conversation }, words) => showUsage(conversation, words),
};

function findSession(words) {
  const field = byId("find-session");
  toggleSide(true);
  field.value = words;
  field.dispatchEvent(new Event("input"));
  field.focus();
}

/** The commands for completion: those of osier, and those of the session. */
export async function completions(conversation) {
  const { builtIn, commands } = await conversation.ask("get_commands");
  return [...builtIn, ...commands].map(({ name, description }) => ({ value: name, note: description }));
}

/**
 * The function that runs a message as a command, which returns `false` for a command of the agent, such as a prompt template;
 * `null` if it is none: a path such as `/etc/hosts`.
 */
export function slashCommand(text) {
  const [, name, argument = ""] = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  if (!name || name.includes(":") || name.startsWith("mcp__")) return null;
  return async (page) => {
    const { builtIn, commands } = await page.conversation.ask("get_commands");
    const own = builtIn.find((command) => command.name === name || command.aliases?.includes(name));
    if (!own && commands.some((command) => command.name === name)) return false;
    const run = async () => {
      const { text: answer } = await page.conversation.ask("run_command", { command: text });
      if (answer) toast(answer);
    };
    const here = COMMANDS[own?.name] ?? run;
    if (here !== run && argument && !own.argument) fail(`\`/${name}\` takes no argument.`);
    await here(page, argument.trim(), run);
  };
}
