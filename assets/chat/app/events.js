// How each event changes a conversation: one function for each event type. Other events appear only in developer mode.

import { failureLine, failureOf } from "./failure.js";
import { duration, plural } from "./format.js";

/** Most output of a running call to store, in characters. */
const MAX_OUTPUT = 64 * 1024;
/** Most paths that one notice names. */
const NAMED_PATHS = 3;

function phase(conversation, text) {
  conversation.phase = text;
  conversation.emit("status");
}

/** The item of a streaming answer. An answer that was partial when the page loaded has no id yet. */
function streamingItem(conversation, id) {
  const item = conversation.find(id) ?? conversation.items.findLast((item) => item.live && item.id === null);
  if (!item) return conversation.add({ role: "assistant", content: [] }, { id, live: true });
  item.id = id;
  return item;
}

/** How each type of delta changes its block. */
const deltas = {
  text_start: (content, { index }) => (content[index] = { type: "text", text: "" }),
  text_delta: (content, { index, delta }) => (content[index].text += delta),
  thinking_start: (content, { index }) => (content[index] = { type: "thinking", thinking: "", live: true }),
  thinking_delta: (content, { index, delta }) => (content[index].thinking += delta),
  thinking_end: (content, { index, redacted }) => Object.assign(content[index], { live: false, redacted }),
  toolcall_start: (content, { index, id, name }) =>
    (content[index] = { type: "toolCall", id, name, arguments: null, raw: "" }),
  toolcall_delta: (content, { index, delta }) => (content[index].raw += delta),
  toolcall_end: (content, { index, arguments: values }) => (content[index].arguments = values),
};

export const handlers = {
  agent_start(conversation) {
    conversation.running = true;
    conversation.facts.error = null;
    // The card disappears, and its reason stays where the run failed.
    if (conversation.failure) {
      const item = conversation.add({ role: "notice", severity: "error", text: failureLine(conversation.failure) });
      conversation.emit("item", { item });
    }
    conversation.failure = null;
    phase(conversation, "Thinking");
  },
  turn_start: (conversation) => phase(conversation, "Thinking"),
  agent_settled(conversation, { outcome }) {
    conversation.running = false;
    conversation.outcome = outcome;
    for (const [id, call] of conversation.calls) {
      if (call.result || call.state === "ended") continue;
      call.state = "ended";
      conversation.emit("call", { id });
    }
    const prompts = conversation.takeUnconfirmed();
    conversation.failure = failureOf(outcome);
    // Prompts that were not stored return to the input field, so that there is nothing to retry.
    if (outcome.type === "stopped" && prompts.length > 0) {
      conversation.failure = null;
      conversation.emit("notice", { severity: "error", text: outcome.message });
      conversation.emit("unstored", { prompts });
    }
    phase(conversation, "");
    conversation.emit("settled", { outcome });
    conversation.readTree().catch(() => {});
  },

  message_start(conversation, { id, message }) {
    if (message.role === "toolResult") return;
    if (message.role === "user") conversation.confirmPrompt(message.text);
    const run =
      message.role === "shellRun" &&
      conversation.items.findLast(({ id, entryId }) => id?.startsWith("shell-") && !entryId);
    // This message replaces the running command.
    if (run) return void Object.assign(run, { id, message, live: false });
    const item = conversation.add(
      { ...message, content: message.content ? [...message.content] : undefined },
      { id, live: message.role === "assistant" },
    );
    conversation.emit("item", { item });
  },
  message_update(conversation, { id, delta }) {
    const item = streamingItem(conversation, id);
    const content = item.message.content;
    if (!content[delta.index] && !delta.type.endsWith("_start")) return;
    deltas[delta.type]?.(content, delta);
    const block = content[delta.index];
    if (delta.type === "toolcall_start") conversation.noteCall(block, "writing");
    if (delta.type === "toolcall_end") conversation.noteCall(block, "running");
    if (delta.type === "text_start") phase(conversation, "Writing");
    if (delta.type === "toolcall_start") phase(conversation, `Preparing ${block.name}`);
    conversation.emit("delta", { item, index: delta.index, delta });
  },
  message_stored(conversation, { id, entryId }) {
    const item = conversation.find(id);
    if (!item) return;
    const twin = conversation.items.find((other) => other !== item && other.entryId === entryId);
    item.entryId = entryId;
    if (!twin) return;
    // The loaded page already contains it.
    conversation.items.splice(conversation.items.indexOf(item), 1);
    conversation.emit("removed", { item });
  },
  message_end(conversation, { id, message }) {
    if (message.role === "toolResult") return;
    const item = streamingItem(conversation, id);
    Object.assign(item, { message, role: message.role, live: false });
    message.content?.forEach?.((block) => conversation.noteCall(block, "running"));
    const usage = message.usage;
    if (usage) {
      conversation.facts.cost = (conversation.facts.cost ?? 0) + (usage.cost?.total ?? 0);
      const total = (conversation.facts.tokenUsage ??= {});
      for (const kind of ["input", "output", "cacheRead", "cacheWrite"])
        total[kind] = (total[kind] ?? 0) + (usage[kind] ?? 0);
    }
    conversation.emit("item", { item });
    conversation.emit("status");
  },
  message_retracted(conversation, { id }) {
    const item = conversation.find(id);
    if (!item) return;
    conversation.items.splice(conversation.items.indexOf(item), 1);
    conversation.emit("removed", { item });
  },

  tool_execution_start(conversation, { callId, toolName, arguments: values }) {
    const call = conversation.calls.get(callId) ?? { output: "", line: "" };
    conversation.calls.set(
      callId,
      Object.assign(call, { name: toolName, arguments: values, state: "running", since: Date.now() }),
    );
    conversation.emit("call", { id: callId });
    phase(conversation, `Running ${toolName}`);
  },
  tool_execution_update(conversation, { callId, update }) {
    const call = conversation.calls.get(callId);
    if (!call) return;
    if (update.type === "output") call.output = ((update.skipped ? "" : call.output) + update.text).slice(-MAX_OUTPUT);
    else if (update.type === "status") call.line = update.text;
    else return;
    conversation.emit("call", { id: callId });
  },
  call_reviewed(conversation, { callId, review }) {
    const call = conversation.calls.get(callId);
    if (!call) return;
    call.review = review;
    conversation.emit("call", { id: callId });
  },
  tool_execution_end(conversation, { callId, toolName, result }) {
    conversation.setResult(callId, toolName, result);
    conversation.emit("call", { id: callId });
    phase(conversation, "Thinking");
  },

  subagents(conversation, { subagents }) {
    conversation.subagents = subagents.map((info) => ({ ...info, since: Date.now() - info.duration }));
    for (const { callId } of subagents) conversation.emit("call", { id: callId });
    conversation.emit("subagents");
  },
  subagent_event: (conversation, { subagent, event }) => conversation.emit("subagent_event", { subagent, event }),

  terminal_screen(conversation, { id, screen }) {
    const callId = conversation.terminals.get(id);
    const call = conversation.calls.get(callId);
    if (!call) return;
    call.screen = screen.text;
    conversation.emit("call", { id: callId });
  },

  shell_start(conversation, { id, command }) {
    conversation.add({ role: "shellRun", command, output: "", live: true }, { id: `shell-${id}`, live: true });
    conversation.emit("item", { item: conversation.items.at(-1) });
  },
  shell_update(conversation, { id, text }) {
    const item = conversation.find(`shell-${id}`);
    if (!item) return;
    item.message.output += text;
    conversation.emit("item", { item });
  },
  shell_end(conversation, { id, run }) {
    const item = conversation.find(`shell-${id}`);
    if (!item) return;
    Object.assign(item, { live: false, message: { role: "shellRun", ...run } });
    conversation.emit("item", { item });
  },

  queue_update(conversation, { steering, followUp }) {
    conversation.queue = { steering, followUp };
    conversation.emit("queue");
  },
  retry_scheduled: (conversation, { attempt, maxAttempts, delayMs }) =>
    phase(
      conversation,
      `The model call failed; retrying in ${duration(delayMs)} (${attempt} of ${maxAttempts})`,
    ),
  provider_switched: (conversation, { from, to }) =>
    conversation.emit("notice", { severity: "warning", text: `${from} failed; continuing with ${to}.` }),
  compaction_start: (conversation) => phase(conversation, "Summarizing the earlier conversation"),
  compaction_end: (conversation) => phase(conversation, ""),
  branch_summary_start: (conversation) => phase(conversation, "Summarizing the branch"),
  branch_summary_failed: (conversation, { message }) => (
    phase(conversation, ""),
    conversation.emit("notice", { severity: "error", text: message })
  ),

  session_opened(conversation, { session, messages, atStart }) {
    if (session.id !== conversation.id) return conversation.emit("switched", { id: session.id });
    Object.assign(conversation.facts, {
      sessionId: session.id,
      sessionFile: session.path,
      sessionName: session.name,
      cwd: session.cwd,
    });
    conversation.setMessages(messages, atStart);
    conversation.failure = null;
    conversation.emit("reset");
    conversation.emit("status");
    conversation.readTree().catch(() => {});
  },
  moved(conversation, { messages, atStart }) {
    conversation.setMessages(messages, atStart);
    conversation.failure = null;
    conversation.emit("reset");
    conversation.readTree().catch(() => {});
  },
  fan_started(conversation, { models }) {
    conversation.fan = { models, lanes: [], ended: false, conflicts: null, wanted: conversation.showFan };
    conversation.showFan = false;
    conversation.emit("fan");
  },
  lane_update(conversation, { state }) {
    if (!conversation.fan) return;
    conversation.fan.lanes[state.lane] = state;
    conversation.emit("fan");
  },
  fan_ended(conversation, { lanes }) {
    if (lanes.length === 0 || !conversation.fan) return conversation.endFan();
    for (const state of lanes) conversation.fan.lanes[state.lane] = state;
    conversation.fan.ended = true;
    conversation.emit("fan");
    conversation.readTree().catch(() => {});
  },
  lane_conflicts(conversation, { lane, files }) {
    if (!conversation.fan) return;
    conversation.fan.conflicts = { lane, files };
    conversation.emit("fan");
  },
  lane_taken(conversation, { files, kept }) {
    conversation.endFan();
    const backup = kept ? ` Overwritten files are saved in ${kept}.` : "";
    if (files.length > 0 || kept)
      conversation.emit("notice", {
        severity: "info",
        text: `Applied: ${plural(files.length, "file")} written.${backup}`,
      });
  },
  presence(conversation, { clients, writer, you }) {
    conversation.presence = clients.length > 1 ? { clients, writer, you } : null;
    conversation.emit("presence");
  },
  files_restored: (conversation, restored) => conversation.emit("restored", restored),
  files_changed_outside(conversation, { paths, more }) {
    const others = paths.length - NAMED_PATHS + more;
    const rest = others > 0 ? ` and ${others} more` : "";
    const named = paths.slice(0, NAMED_PATHS).join(", ");
    const text = `Changed outside of osier: ${named}${rest}. The model gets a reminder.`;
    conversation.emit("notice", { severity: "info", text });
  },
  mcp_servers(conversation, { servers }) {
    conversation.servers = servers;
    conversation.emit("servers");
  },
  messages_replaced: (conversation) => void conversation.reload().catch(() => {}),
  entry_labelled(conversation, { entryId, label }) {
    conversation.tree.label(entryId, label);
    conversation.emit("tree");
  },
  branch_hidden: (conversation) => void conversation.readTree().catch(() => {}),
  branch_deleted: (conversation) => void conversation.readTree().catch(() => {}),
  session_renamed(conversation, { name }) {
    conversation.facts.sessionName = name;
    conversation.emit("status");
  },
  model_selected(conversation, { model, level }) {
    Object.assign(conversation.facts, { model, thinkingLevel: level });
    conversation.emit("status");
  },
  thinking_level_changed(conversation, { level }) {
    conversation.facts.thinkingLevel = level;
    conversation.emit("status");
  },
  permissions(conversation, { mode }) {
    conversation.facts.permissions = mode;
    conversation.emit("status");
  },
  workspace(conversation, { cwd, branch }) {
    Object.assign(conversation.facts, { cwd, branch });
    conversation.emit("status");
  },
  commands(conversation, { commands }) {
    conversation.commands = commands;
  },
  login_started: (conversation, started) => conversation.emit("login_started", started),
  login_refused: (conversation, refused) => conversation.emit("login_refused", refused),
  login_ended: (conversation, ended) => conversation.emit("login_ended", ended),
  session_failed: (conversation, { message }) => conversation.emit("notice", { severity: "error", text: message }),
  shut_down(conversation) {
    conversation.ended = true;
    conversation.presence = null;
    conversation.emit("presence");
    conversation.emit("ended");
  },
};
