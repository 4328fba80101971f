// The state of one session: messages, tool calls, queues, questions and status.
//
// `events.js` applies the events of the server. Views listen to these changes:
//   reset            all messages were replaced             item {item}      a message is new or complete
//   delta {item, index, delta}  an open block has grown     removed {item}   a partial answer was discarded
//   call {id}        a tool call has changed                status           the status has changed
//   queue            the queues have changed                tree             branches may have changed
//   question {request}, closed {id}                         notice {severity, text}
//   fan              several models side by side            servers          MCP servers
//   restored {changes, left}   files were restored          presence         connected clients and the active writer
//   subagents        the list of subagents                  subagent_event {subagent, event}   an event of one
//   subagent {info}  the user opens the conversation of a subagent
//   login_started, login_refused, login_ended   the events of a sign-in
//   pending          sent prompts that are not in the conversation yet have changed
//   unstored {prompts}  prompts that could not be stored
//   switched {id}    another session was opened in place of this one

import { handlers } from "./events.js";
import { Tree } from "./tree.js";

export class Conversation extends EventTarget {
  /** Messages, oldest first: `{key, id, entryId, role, message, live}`. */
  items = [];
  /** Tool calls by id: `{state, name, arguments, output, line, result, since}`. */
  calls = new Map();
  /** The newest call about each terminal, by the id of the terminal. */
  terminals = new Map();
  facts = {};
  running = false;
  phase = "";
  /** Why the last run failed: `{kind, message}`. */
  failure = null;
  queue = { steering: [], followUp: [] };
  questions = new Map();
  commands = [];
  /** MCP servers. */
  servers = [];
  /** Subagents that run or ended, oldest first. */
  subagents = [];
  /** Models that run side by side: `{models, lanes, ended, conflicts}`. */
  fan = null;
  /** Connected clients, while there are several: `{clients, writer, you}`. */
  presence = null;
  /** Sent prompts that are not in the conversation yet, oldest first: `{text, images, attachments, answered}`. */
  unconfirmed = [];
  /** This page started the fan and opens its dialog. */
  showFan = false;
  tree = new Tree();
  atStart = true;
  ready = false;
  /** The session was closed. The next command opens it again. */
  ended = false;
  #buffer = null;
  #keys = 0;
  /** Settles when the last prompt is answered. */
  #sent = Promise.resolve();

  constructor(connection, id) {
    super();
    this.connection = connection;
    this.id = id;
  }

  /** Subscribes and loads; throws when the session cannot be opened. */
  async open() {
    this.#buffer = [];
    const snapshot = await this.connection.subscribe(this.id, {
      onFrame: (type, payload) => this.#onFrame(type, payload),
      onSnapshot: (snapshot) => this.reload(snapshot),
    });
    await this.reload(snapshot);
  }

  close() {
    this.connection.unsubscribe(this.id);
  }

  /** Sends a command to the session and returns its data. */
  async ask(type, parameters = {}) {
    await this.#reopen();
    return this.connection.command(this.id, { type, ...parameters });
  }

  /** Sends a command that must neither be lost nor executed twice: the command waits while there is no connection. */
  async askOnce(type, parameters) {
    await this.#reopen();
    return this.connection.command(this.id, { type, ...parameters }, { once: true });
  }

  /** Another client closed the session, which stays stored. */
  async #reopen() {
    if (!this.ended) return;
    this.ended = false;
    await this.open();
  }

  /**
   * Sends a prompt after the earlier ones; instead of the prompt `edited`, on a new branch. If it cannot be stored,
   * `unstored` follows. `images`: `{data}` each; `attachments`: files as the agent stores them.
   */
  prompt({ text, images, attachments }, { edited, followUp }) {
    const prompt = { text, images, attachments, answered: false };
    this.unconfirmed.push(prompt);
    this.emit("pending");
    const sent = this.#sent.then(async () => {
      if (edited) await this.askOnce("move_to", { entryId: edited });
      // Whether the agent runs is known when the prompt before is answered.
      const streamingBehavior = this.running ? (followUp ? "followUp" : "steer") : undefined;
      const { repeated } = await this.askOnce("prompt", {
        message: text,
        images: images.map(({ data }) => ({ data })),
        attachments,
        streamingBehavior,
      });
      prompt.answered = true;
      // The server has executed it before the connection was lost, and its events are here.
      if (repeated) this.#forget(prompt);
    });
    this.#sent = sent.catch(() => {});
    return sent.catch((error) => {
      this.#forget(prompt);
      throw error;
    });
  }

  /** Runs a command after the prompts that were sent before it. */
  after(run) {
    return this.#sent.then(run);
  }

  #forget(prompt) {
    this.unconfirmed = this.unconfirmed.filter((other) => other !== prompt);
    this.emit("pending");
  }

  /** Reads the MCP servers. An event that arrives meanwhile is newer than the response. */
  async readServers() {
    const before = this.servers;
    const { servers } = await this.ask("list_mcp_servers");
    if (this.servers !== before) return;
    this.servers = servers;
    this.emit("servers");
  }

  /** A prompt is in the conversation. If its text was changed on the way, it is the oldest. */
  confirmPrompt(text) {
    const known = this.unconfirmed.findIndex((prompt) => prompt.text === text);
    this.unconfirmed.splice(Math.max(0, known), 1);
    this.emit("pending");
  }

  /** After a run: removes and returns the prompts that the server has, and that are neither in the conversation nor queued. */
  takeUnconfirmed() {
    const lost = this.notQueued().filter(({ answered }) => answered);
    this.unconfirmed = this.unconfirmed.filter((prompt) => !lost.includes(prompt));
    this.emit("pending");
    return lost;
  }

  /** The queue was emptied. Prompts that the server does not have yet remain. */
  forgetQueued() {
    this.unconfirmed = this.unconfirmed.filter(({ answered }) => !answered);
    this.emit("pending");
  }

  /** The sent prompts that are neither in the conversation nor queued. */
  notQueued() {
    const queued = [...this.queue.steering, ...this.queue.followUp].map(({ text }) => text);
    return this.unconfirmed.filter(({ text }) => !queued.includes(text));
  }

  /** Reads the complete state, using `snapshot` if given. Events that arrive meanwhile are buffered. */
  async reload(snapshot = null) {
    const buffer = (this.#buffer = []);
    try {
      const [facts, page] = await Promise.all([
        this.ask("get_state"),
        this.ask("read_transcript", { page: { at: "end" } }),
      ]);
      const agent = facts.isStreaming ? await this.ask("get_agent_state") : null;
      // Earlier deltas are already in the agent's state.
      const seen = buffer.length;
      if (this.#buffer !== buffer) return;
      this.#applyState(facts, page, agent);
      if (snapshot) this.#applySnapshot(snapshot);
      this.#buffer = null;
      buffer.forEach(
        ([type, payload], place) => (place >= seen || !STREAMING_EVENTS.has(payload?.type)) && this.#onFrame(type, payload),
      );
      this.ready = true;
      this.emit("reset");
      this.emit("status");
      this.emit("queue");
      this.emit("pending");
      this.emit("fan");
      this.emit("presence");
      await this.#readQuestions();
      await this.#showTerminals();
      await this.readTree();
    } catch (error) {
      if (this.#buffer === buffer) this.#buffer = null;
      if (error.constructor.name !== "ConnectionLost") throw error;
    }
  }

  #applyState(facts, page, agent) {
    this.facts = facts;
    this.running = facts.isStreaming;
    this.phase = "";
    this.forgetQueued();
    this.setMessages(page.messages ?? [], page.atStart ?? true);
    const pending = new Set(agent?.pendingToolCalls ?? []);
    for (const [id, call] of this.calls) if (!call.result) call.state = pending.has(id) ? "running" : "ended";
    this.failure = this.running ? null : lastFailure(this);
    this.queue = { steering: agent?.steering ?? [], followUp: agent?.followUp ?? [] };
    if (agent?.partial) {
      const item = this.add({ role: "assistant", ...agent.partial }, { live: true });
      for (const block of item.message.content) this.noteCall(block, "writing");
    }
  }

  /** Applies the snapshot events about fans, clients and subagents. */
  #applySnapshot({ events }) {
    [this.fan, this.presence] = [null, null];
    for (const event of events) if (SNAPSHOT_EVENTS.has(event.type)) handlers[event.type](this, event);
  }

  /** Replaces all messages. */
  setMessages(messages, atStart) {
    this.items = [];
    this.calls = new Map();
    this.terminals = new Map();
    this.atStart = atStart;
    for (const message of messages) this.add(message, { entryId: message.entryId });
    if (!this.running) for (const call of this.calls.values()) if (!call.result) call.state = "ended";
  }

  /** Adds a message. A tool result is stored in its call and is not an item. */
  add(message, { id = null, entryId = null, live = false } = {}) {
    const item = { key: `m${this.#keys++}`, id, entryId, role: message.role, message, live };
    if (message.role === "toolResult") return (this.setResult(message.toolCallId, message.toolName, message), item);
    if (message.role === "assistant")
      message.content?.forEach((block) => this.noteCall(block, live ? "writing" : "running"));
    this.items.push(item);
    return item;
  }

  noteCall(block, state) {
    if (block.type !== "toolCall") return;
    const known = this.calls.get(block.id);
    if (known) {
      Object.assign(known, { arguments: block.arguments ?? known.arguments, name: block.name });
      if (known.state === "writing") known.state = state;
    } else
      this.calls.set(block.id, {
        state,
        name: block.name,
        arguments: block.arguments,
        output: "",
        line: "",
        since: Date.now(),
      });
  }

  setResult(id, name, result) {
    const call = this.calls.get(id) ?? { name, arguments: null, output: "" };
    const good = !result.isError && (result.status?.type ?? "success") === "success";
    this.calls.set(id, Object.assign(call, { result, state: good ? "good" : "bad" }));
    if (result.details?.running && result.details.id) this.terminals.set(result.details.id, id);
  }

  /** Shows the screens of the terminals that run. */
  async #showTerminals() {
    if (this.terminals.size === 0) return;
    const { terminals } = await this.ask("list_terminals");
    for (const { id, running } of terminals) {
      if (!running || !this.terminals.has(id)) continue;
      const show = (screen) => handlers.terminal_screen(this, screen);
      await this.ask("show_terminal", { terminal: id }).then(show, () => {});
    }
  }

  /** Whether a tool call waits for the user's answer. */
  isAsking(callId) {
    return [...this.questions.values()].some((request) => request.callId === callId);
  }

  /** Whether a tool call of the conversation waits for permission. */
  asksPermission() {
    return [...this.questions.values()].some(({ method, callId }) => method === "permission" && this.calls.has(callId));
  }

  find(id) {
    return this.items.findLast((item) => item.id === id);
  }

  /** Loads the messages before the first one. */
  async loadEarlier() {
    const first = this.items.find((item) => item.entryId);
    if (!first || this.atStart) return;
    const page = await this.ask("read_transcript", { page: { at: "before", entryId: first.entryId } });
    const later = this.items;
    this.items = [];
    for (const message of page.messages) {
      const item = this.add(message, { entryId: message.entryId });
      const call = message.role === "toolResult" && this.calls.get(message.toolCallId);
      if (!call && item.role === "toolResult") this.items.pop();
    }
    for (const call of this.calls.values())
      if (!call.result && call.state === "running" && !this.running) call.state = "ended";
    this.items.push(...later);
    this.atStart = page.atStart || page.messages.length === 0;
    this.emit("reset", { earlier: true });
  }

  /** The lanes of a fan were removed. */
  endFan() {
    this.fan = null;
    this.emit("fan");
  }

  async readTree() {
    const { outline } = await this.ask("get_tree");
    this.tree = new Tree(outline);
    this.emit("tree");
  }

  /** Answers a question. It is open again when the answer is rejected. */
  async answer(id, answer) {
    this.#closeQuestion(id);
    try {
      await this.askOnce("answer_question", { questionId: id, answer });
    } catch (error) {
      await this.#readQuestions();
      throw error;
    }
  }

  /** Shows the open questions of the server and no others. */
  async #readQuestions() {
    const { questions = [] } = await this.ask("list_questions");
    const isOpen = (id) => questions.some((question) => question.id === id);
    for (const id of [...this.questions.keys()]) if (!isOpen(id)) this.#closeQuestion(id);
    for (const question of questions) this.#openQuestion(fromQuestion(question));
  }

  #onFrame(type, payload) {
    if (this.#buffer) return void this.#buffer.push([type, payload]);
    if (type === "event") handlers[payload.type]?.(this, payload);
    else if (type === "ui_request") this.#openQuestion(payload);
    else if (type === "ui_closed") this.#closeQuestion(payload.id);
    else if (type === "error")
      this.emit("notice", { severity: "error", text: payload.message ?? payload.error ?? "Something went wrong." });
  }

  #openQuestion(request) {
    if (request.method === "notify")
      return this.emit("notice", { severity: request.severity, text: request.title });
    if (this.questions.has(request.id)) return;
    this.questions.set(request.id, request);
    this.emit("question", { request });
    if (request.callId) this.#showRunning();
  }

  #closeQuestion(id) {
    const request = this.questions.get(id);
    if (!this.questions.delete(id)) return;
    this.emit("closed", { id });
    if (request.callId) this.#showRunning();
  }

  /** A question says whether calls run or wait. */
  #showRunning() {
    for (const [id, { state }] of this.calls) if (state === "running") this.emit("call", { id });
  }

  emit(type, detail = {}) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** Why the last run of a loaded conversation failed. */
function lastFailure({ facts, items, calls }) {
  if (facts.error) return { kind: "failed", message: facts.error };
  // A run of an earlier process left no reason.
  const last = items.at(-1);
  if (last?.role === "user") return { kind: "unanswered", message: "" };
  const isCut = last?.message.content?.some?.(({ type, id }) => type === "toolCall" && !calls.get(id)?.result);
  return isCut ? { kind: "interrupted", message: "osier was ended while tools were running." } : null;
}

/** Events about the streaming answer. */
const STREAMING_EVENTS = new Set(["message_update", "message_start", "message_end", "message_retracted"]);

/** Snapshot events that neither the messages nor the status contain. */
const SNAPSHOT_EVENTS = new Set(["fan_started", "lane_update", "fan_ended", "lane_conflicts", "presence", "subagents"]);

/** Converts a question of `list_questions` to a `ui_request`. */
function fromQuestion({ kind, ...question }) {
  const { type, ...rest } = kind;
  return { ...question, ...rest, method: type === "input" && kind.multiline ? "editor" : type };
}
