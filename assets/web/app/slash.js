// The slash commands of the terminal in the chat: what each does here, or why it needs the terminal.

import { signIn } from "./accounts.js";
import { byId } from "./dom.js";
import { dollars, tokens } from "./format.js";
import { toggleSide } from "./shell.js";
import { setTheme } from "./theme.js";
import { toast } from "./toast.js";

const ask = (type, parameters) => (page) => page.conversation.ask(type, parameters);
const panel = (page) => page.drawer.toggle(true);
const fail = (text) => {
  throw new Error(text);
};
/** The argument of a command that needs one. */
const needed = (value, what) => value || fail(`Enter ${what} after the command.`);
const terminal = (what) => () => fail(`${what} only in the terminal: \`osier attach\` opens this session there.`);

const lastPrompt = ({ conversation }) =>
  conversation.items.findLast(({ role, entryId }) => role === "user" && entryId) ?? fail("There is no prompt yet.");
const lastAnswer = ({ conversation }) =>
  conversation.items.findLast(({ role }) => role === "assistant") ?? fail("There is no answer yet.");

/** `[description, run(page, argument)]` by name. */
const COMMANDS = {
  about: ["Show the version", async (page) => {
    const { about } = await page.conversation.ask("get_about");
    toast(`osier ${about.version}`);
  }],
  archive: ["Archive the session", (page, value) => page.mark("archived", value !== "off")],
  background: ["Continue the running command as a background job", ask("move_to_background")],
  budget: ["Set the budget in dollars; off removes it", (page, value) => {
    const cost = value === "off" ? 0 : Number(needed(value, "an amount in US dollars").replace("$", ""));
    return Number.isFinite(cost)
      ? page.conversation.ask("set_budget", { budget: { cost } })
      : fail(`\`${value}\` is no amount in US dollars.`);
  }],
  clone: ["Continue in a new session with a copy", ask("clone")],
  close: ["Close the session", (page) => page.closeCurrent()],
  compact: ["Summarize the earlier conversation", (page, instructions) =>
    page.conversation.ask("compact", instructions ? { instructions } : {})],
  context: ["Show what fills the context window", panel],
  copy: ["Copy the last answer", (page) => page.act("copy", lastAnswer(page))],
  diff: ["Review changes", terminal("Changes are reviewed")],
  export: ["Export the session", (page, path) => page.export(path ? { path } : { format: "html" })],
  fork: ["Continue in a new session from before the last prompt", (page) => page.fork(lastPrompt(page))],
  help: ["List the commands", () => {
    const field = byId("prompt");
    field.value = "/";
    field.dispatchEvent(new Event("input"));
  }],
  hooks: ["List the hooks", terminal("Hooks are listed")],
  jobs: ["Show background jobs", terminal("Background jobs are shown")],
  keymap: ["Change key bindings", terminal("Key bindings exist")],
  login: ["Sign in to a provider", (page, provider) => signIn(page.conversation, provider || null)],
  logout: ["Delete the credentials of a provider", (page, provider) =>
    page.conversation.ask("logout", { provider: needed(provider, "a provider") })],
  lsp: ["Show language servers", terminal("Language servers are shown")],
  mcp: ["Show MCP servers", panel],
  model: ["Choose the model", (page, reference) =>
    reference ? page.conversation.ask("set_model", { reference }) : page.chooseModel()],
  name: ["Rename the session", (page, name) =>
    name ? page.conversation.ask("set_session_name", { name }) : page.rename()],
  new: ["Start a new session", async (page, text) => {
    await page.create();
    if (text) page.composer.insert(text);
  }],
  permissions: ["Set the permission mode", (page, mode) =>
    mode ? page.conversation.ask("set_permissions", { mode }) : page.chooseMode()],
  pin: ["Pin the session", (page, value) => page.mark("pinned", value !== "off")],
  quit: ["Leave", () => fail("Close the browser tab to leave. The session continues to run.")],
  redo: ["Revert the last undo", ask("redo_prompt")],
  refresh: ["Download the list of models", ask("refresh_models")],
  reload: ["Read settings and models again", ask("reload")],
  restore: ["Restore files", (page) => page.act("files", lastPrompt(page))],
  resume: ["Open a session", (_, id) => findSession(id)],
  retry: ["Continue after a failed run, or send the last prompt to another model", async ({ conversation }, reference) => {
    if (!reference) return conversation.ask("continue");
    await conversation.ask("set_model", { reference });
    await conversation.ask("retry_prompt");
  }],
  role: ["Switch to the model of a role", (page, role) => page.conversation.ask("switch_role", role ? { role } : {})],
  session: ["Show the session", panel],
  sessions: ["Find a session", (_, words) => findSession(words)],
  settings: ["Change settings", terminal("Settings are changed")],
  skills: ["List skills", terminal("Skills are listed")],
  stash: ["Stash the prompt", terminal("Prompts are stashed")],
  tab: ["Switch tabs", () => fail("The chat has no tabs: the sessions are in the list on the left.")],
  takeover: ["Take control from another client", ask("take_over")],
  theme: ["Switch to light, dark or system", (_, name) =>
    ["light", "dark", "system"].includes(name)
      ? setTheme(name)
      : fail("The chat has the themes `light`, `dark` and `system`.")],
  thinking: ["Set the thinking level", (page, level) =>
    level ? page.conversation.ask("set_thinking_level", { level }) : panel(page)],
  todo: ["Show the to-do list", terminal("The to-do list is shown")],
  tools: ["List the tools", terminal("Tools are listed")],
  tree: ["Show the branches", terminal("The tree is shown")],
  undo: ["Go back to before the last prompt", async ({ conversation, composer }, what) => {
    if (what) return fail("The chat undoes the conversation; Restore files is in the menu of a message.");
    const { prompt } = await conversation.ask("undo_prompt");
    if (prompt?.text ?? prompt) composer.insert(prompt.text ?? prompt);
  }],
  usage: ["Show tokens and cost", ({ conversation }) => {
    const { cost, tokenUsage = {} } = conversation.facts;
    toast(`${tokens(tokenUsage.input)} tokens in, ${tokens(tokenUsage.output)} out, ${dollars(cost) || "$0.00"}`);
  }],
};

function findSession(words) {
  const field = byId("find-session");
  toggleSide(true);
  field.value = words;
  field.dispatchEvent(new Event("input"));
  field.focus();
}

/** All commands, for completion. */
export const COMPLETIONS = Object.entries(COMMANDS).map(([value, [note]]) => ({ value, note }));

/**
 * The function that runs a message as a command; `null` if it is none: a path such as `/etc/hosts`, or a command of the agent,
 * such as a prompt template.
 */
export function slashCommand(text) {
  const [, name, argument] = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  if (!name || name.includes(":")) return null;
  if (Object.hasOwn(COMMANDS, name))
    return async (page) => void (await COMMANDS[name][1](page, (argument ?? "").trim()));
  return async ({ conversation }) => {
    const { commands } = await conversation.ask("get_commands");
    if (commands.some((command) => command.name === name)) return false;
    const near = [...Object.keys(COMMANDS), ...commands.map((command) => command.name)].find((known) => isNear(known, name.toLowerCase()));
    fail(`Unknown command \`/${name}\`. ${near ? `Did you mean \`/${near}\`?` : "Enter `/` to list the commands."}`);
  };
}

/** Whether two names are alike: one letter more, less, other or swapped, or the same beginning. */
function isNear(known, name) {
  if (known.startsWith(name) || (known.length > 2 && name.startsWith(known))) return true;
  if (Math.abs(known.length - name.length) > 1) return false;
  let start = 0;
  while (start < name.length && known[start] === name[start]) start += 1;
  const rests = [known.slice(start), name.slice(start)];
  const swapped = rests[1].length > 1 && rests[1][1] + rests[1][0] + rests[1].slice(2);
  return rests[0].slice(1) === rests[1].slice(1) || rests[0].slice(1) === rests[1] || rests[0] === rests[1].slice(1) || rests[0] === swapped;
}
