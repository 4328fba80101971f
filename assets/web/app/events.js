// What each event of the agent changes in a conversation: one row an event. Those that change nothing here
// are only seen in the developer's list.

import { dollars, duration } from "./format.js";
import { Tree } from "./tree.js";

/** Output of a running call that is kept; the result holds what matters. */
const OUTPUT = 64 * 1024;

function phase(conversation, text) {
  conversation.phase = text;
  conversation.tell("status");
}

/** The item of an answer; one that was half there when this page came has no id yet. */
function growing(conversation, id) {
  const item = conversation.find(id) ?? conversation.items.findLast((item) => item.live && item.id === null);
  if (!item) return conversation.add({ role: "assistant", content: [] }, { id, live: true });
  item.id = id;
  return item;
}

/** One row a kind of delta: what it makes of the block. */
const deltas = {
  text_start: (content, { index }) => (content[index] = { type: "text", text: "" }),
  text_delta: (content, { index, delta }) => (content[index].text += delta),
  thinking_start: (content, { index }) => (content[index] = { type: "thinking", thinking: "", live: true }),
  thinking_delta: (content, { index, delta }) => (content[index].thinking += delta),
  thinking_end: (content, { index, redacted }) => Object.assign(content[index], { live: false, redacted }),
  toolcall_start: (content, { index, id, name }) =>
    (content[index] = { type: "toolCall", id, name, arguments: null, raw: "" }),
  toolcall_delta: (content, { index, delta }) => (content[index].raw += delta),
  toolcall_end: (content, { index, arguments: given }) => (content[index].arguments = given),
};

/** Ends of a run that no message tells of. */
const ends = {
  stopped: ({ message }) => message,
  max_turns: ({ maxTurns }) => `The model gave no answer within ${maxTurns} turns.`,
};

export const handlers = {
  agent_start(conversation) {
    conversation.running = true;
    conversation.facts.error = null;
    phase(conversation, "Thinking");
  },
  turn_start: (conversation) => phase(conversation, "Thinking"),
  agent_settled(conversation, { outcome }) {
    conversation.running = false;
    conversation.outcome = outcome;
    for (const [id, call] of conversation.calls) {
      if (call.result || call.state === "ended") continue;
      call.state = "ended";
      conversation.tell("call", { id });
    }
    phase(conversation, "");
    const text = ends[outcome.type]?.(outcome);
    if (text) conversation.tell("notice", { severity: "error", text });
    const texts = conversation.takeLost();
    if (outcome.type === "stopped" && texts.length > 0) conversation.tell("unstored", { texts });
    conversation.tell("settled", { outcome });
    conversation.readTree().catch(() => {});
  },

  message_start(conversation, { id, message }) {
    if (message.role === "toolResult") return;
    if (message.role === "user") conversation.came(message.text);
    const run =
      message.role === "shellRun" &&
      conversation.items.findLast(({ id, entryId }) => id?.startsWith("shell-") && !entryId);
    // The command that was seen running is this message.
    if (run) return void Object.assign(run, { id, message, live: false });
    const item = conversation.add(
      { ...message, content: message.content ? [...message.content] : undefined },
      { id, live: message.role === "assistant" },
    );
    conversation.tell("item", { item });
  },
  message_update(conversation, { id, delta }) {
    const item = growing(conversation, id);
    const content = item.message.content;
    if (!content[delta.index] && !delta.type.endsWith("_start")) return;
    deltas[delta.type]?.(content, delta);
    const block = content[delta.index];
    if (delta.type === "toolcall_start") conversation.noteCall(block, "writing");
    if (delta.type === "toolcall_end") conversation.noteCall(block, "running");
    if (delta.type === "text_start") phase(conversation, "Writing");
    if (delta.type === "toolcall_start") phase(conversation, `Preparing ${block.name}`);
    conversation.tell("piece", { item, index: delta.index, delta });
  },
  message_stored(conversation, { id, entryId }) {
    const item = conversation.find(id);
    if (!item) return;
    const twin = conversation.items.find((other) => other !== item && other.entryId === entryId);
    item.entryId = entryId;
    if (!twin) return;
    // It was in what was loaded already.
    conversation.items.splice(conversation.items.indexOf(item), 1);
    conversation.tell("gone", { item });
  },
  message_end(conversation, { id, message }) {
    if (message.role === "toolResult") return;
    const item = growing(conversation, id);
    Object.assign(item, { message, role: message.role, live: false });
    message.content?.forEach?.((block) => conversation.noteCall(block, "running"));
    const usage = message.usage;
    if (usage) {
      conversation.facts.cost = (conversation.facts.cost ?? 0) + (usage.cost?.total ?? 0);
      const total = (conversation.facts.tokenUsage ??= {});
      for (const kind of ["input", "output", "cacheRead", "cacheWrite"])
        total[kind] = (total[kind] ?? 0) + (usage[kind] ?? 0);
    }
    conversation.tell("item", { item });
    conversation.tell("status");
  },
  message_retracted(conversation, { id }) {
    const item = conversation.find(id);
    if (!item) return;
    conversation.items.splice(conversation.items.indexOf(item), 1);
    conversation.tell("gone", { item });
  },

  tool_execution_start(conversation, { callId, toolName, arguments: given }) {
    const call = conversation.calls.get(callId) ?? { output: "", line: "" };
    conversation.calls.set(
      callId,
      Object.assign(call, { name: toolName, arguments: given, state: "running", since: Date.now() }),
    );
    conversation.tell("call", { id: callId });
    phase(conversation, `Running ${toolName}`);
  },
  tool_execution_update(conversation, { callId, update }) {
    const call = conversation.calls.get(callId);
    if (!call) return;
    if (update.type === "output") call.output = ((update.skipped ? "" : call.output) + update.text).slice(-OUTPUT);
    else if (update.type === "status") call.line = update.text;
    else if (update.type === "agent") call.line = inner(update.event) ?? call.line;
    else return;
    conversation.tell("call", { id: callId });
  },
  tool_execution_end(conversation, { callId, toolName, result }) {
    conversation.setResult(callId, toolName, result);
    conversation.tell("call", { id: callId });
    phase(conversation, "Thinking");
  },

  shell_start(conversation, { id, command }) {
    conversation.add({ role: "shellRun", command, output: "", live: true }, { id: `shell-${id}`, live: true });
    conversation.tell("item", { item: conversation.items.at(-1) });
  },
  shell_update(conversation, { id, text }) {
    const item = conversation.find(`shell-${id}`);
    if (!item) return;
    item.message.output += text;
    conversation.tell("item", { item });
  },
  shell_end(conversation, { id, run }) {
    const item = conversation.find(`shell-${id}`);
    if (!item) return;
    Object.assign(item, { live: false, message: { role: "shellRun", ...run } });
    conversation.tell("item", { item });
  },

  queue_update(conversation, { steering, followUp }) {
    conversation.queue = { steering, followUp };
    conversation.tell("queue");
  },
  retry_scheduled: (conversation, { attempt, maxAttempts, delayMs }) =>
    phase(
      conversation,
      `The model did not answer: trying again in ${duration(delayMs)} (${attempt} of ${maxAttempts})`,
    ),
  provider_switched: (conversation, { from, to }) =>
    conversation.tell("notice", { severity: "warning", text: `${from} failed: going on with ${to}.` }),
  compaction_start: (conversation) => phase(conversation, "Summarising the earlier part"),
  compaction_end: (conversation) => phase(conversation, ""),
  branch_summary_start: (conversation) => phase(conversation, "Summarising the branch"),
  branch_summary_failed: (conversation, { message }) => (
    phase(conversation, ""),
    conversation.tell("notice", { severity: "error", text: message })
  ),

  session_opened(conversation, { session, messages, atStart }) {
    Object.assign(conversation.facts, {
      sessionId: session.id,
      sessionFile: session.path,
      sessionName: session.name,
      cwd: session.cwd,
    });
    conversation.setMessages(messages, atStart);
    // Entries keep their ids in a copy, and the branches of the session before are not its own.
    conversation.tree = new Tree();
    conversation.tell("reset");
    conversation.tell("status");
    conversation.readTree().catch(() => {});
  },
  moved(conversation, { messages, atStart }) {
    conversation.setMessages(messages, atStart);
    conversation.tell("reset");
    conversation.readTree().catch(() => {});
  },
  fan_started(conversation, { models }) {
    conversation.fan = { models, lanes: [], ended: false, conflicts: null, wanted: conversation.wantsFan };
    conversation.wantsFan = false;
    conversation.tell("fan");
  },
  lane_update(conversation, { state }) {
    if (!conversation.fan) return;
    conversation.fan.lanes[state.lane] = state;
    conversation.tell("fan");
  },
  fan_ended(conversation, { lanes }) {
    if (lanes.length === 0 || !conversation.fan) return conversation.endFan();
    for (const state of lanes) conversation.fan.lanes[state.lane] = state;
    conversation.fan.ended = true;
    conversation.tell("fan");
    conversation.readTree().catch(() => {});
  },
  lane_conflicts(conversation, { lane, files }) {
    if (!conversation.fan) return;
    conversation.fan.conflicts = { lane, files };
    conversation.tell("fan");
  },
  lane_taken(conversation, { files, kept }) {
    conversation.endFan();
    const aside = kept ? ` What was here is kept in ${kept}.` : "";
    if (files.length > 0 || kept)
      conversation.tell("notice", {
        severity: "info",
        text: `${files.length === 1 ? "One file is" : `${files.length} files are`} as that model made them.${aside}`,
      });
  },
  presence(conversation, { clients, writer, you }) {
    conversation.company = clients.length > 1 ? { clients, writer, you } : null;
    conversation.tell("company");
  },
  files_restored: (conversation, restored) => conversation.tell("restored", restored),
  mcp_servers(conversation, { servers }) {
    conversation.servers = servers;
    conversation.tell("servers");
  },
  messages_replaced: (conversation) => void conversation.reload().catch(() => {}),
  entry_labelled(conversation, { entryId, label }) {
    conversation.tree.label(entryId, label);
    conversation.tell("tree");
  },
  branch_hidden: (conversation) => void conversation.readTree().catch(() => {}),
  session_renamed(conversation, { name }) {
    conversation.facts.sessionName = name;
    conversation.tell("status");
  },
  model_selected(conversation, { model, level }) {
    Object.assign(conversation.facts, { model, thinkingLevel: level });
    conversation.tell("status");
  },
  thinking_level_changed(conversation, { level }) {
    conversation.facts.thinkingLevel = level;
    conversation.tell("status");
  },
  permissions(conversation, { mode }) {
    conversation.facts.permissions = mode;
    conversation.tell("status");
  },
  workspace(conversation, { cwd, branch }) {
    Object.assign(conversation.facts, { cwd, branch });
    conversation.tell("status");
  },
  commands(conversation, { commands }) {
    conversation.commands = commands;
  },
  session_failed: (conversation, { message }) => conversation.tell("notice", { severity: "error", text: message }),
  shut_down: (conversation) => conversation.tell("ended"),
};

/** What an agent inside of a call is at, in one line. */
function inner(event) {
  if (event.type === "tool_execution_start") return `Running ${event.toolName}`;
  if (event.type === "message_end" && event.message?.usage)
    return `Answered ${dollars(event.message.usage.cost?.total)}`.trim();
  return null;
}
