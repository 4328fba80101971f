// One session as this page knows it: its messages, the calls of its tools, what waits, how it stands.
//
// Everything here is data. `events.js` says what each event changes; views listen to what is told:
//   reset            all messages are others                item {item}      a message is new or complete
//   piece {item, index, delta}  more of an open block       gone {item}      a partial answer was taken back
//   call {id}        a tool's call has changed              status           anything of the facts around it
//   queue            what waits has changed                 tree             branches may have changed
//   question {request}, closed {id}                         notice {severity, text}
//   fan              several models at one prompt           servers          MCP servers
//   restored {changes, left}   files were brought back      company          who is here, and who writes
//   unstored {texts}  prompts from here that nobody has

import { handlers } from "./events.js";
import { Tree } from "./tree.js";

export class Conversation extends EventTarget {
  /** Messages, oldest first: `{key, id, entryId, role, message, live}`. */
  items = [];
  /** Tool calls by id: `{state, name, arguments, output, line, result, since}`. */
  calls = new Map();
  facts = {};
  running = false;
  phase = "";
  queue = { steering: [], followUp: [] };
  questions = new Map();
  commands = [];
  /** MCP servers, as they were told last. */
  servers = [];
  /** Models that answer one prompt: `{models, lanes, ended, conflicts}`. */
  fan = null;
  /** Who is in the session, while there are several: `{clients, writer, you}`. */
  company = null;
  /** Texts that went out from here and are not in the conversation yet, oldest first. */
  sent = [];
  /** This page has asked for it, and shows it when it begins. */
  wantsFan = false;
  tree = new Tree();
  atStart = true;
  ready = false;
  #buffer = null;
  #keys = 0;

  constructor(link, id) {
    super();
    this.link = link;
    this.id = id;
  }

  /** Subscribes and loads; throws when the session cannot be had. */
  async open() {
    this.#buffer = [];
    const snapshot = await this.link.subscribe(this.id, {
      hear: (type, payload) => this.#hear(type, payload),
      gap: (snapshot) => this.reload(snapshot),
    });
    await this.reload(snapshot);
  }

  close() {
    this.link.unsubscribe(this.id);
  }

  /** Sends a command to the session; gives what it gives. */
  ask(type, parameters = {}) {
    return this.link.command(this.id, { type, ...parameters });
  }

  /** Sends a prompt; one that cannot be stored is told as `unstored`. */
  prompt(parameters) {
    this.sent.push(parameters.message);
    return this.ask("prompt", parameters).catch((error) => {
      this.came(parameters.message);
      throw error;
    });
  }

  /** A prompt is in the conversation. Where something on the way has changed its words it is the oldest. */
  came(text) {
    this.sent.splice(Math.max(0, this.sent.indexOf(text)), 1);
  }

  /** Nothing runs: takes what neither came nor waits in the queues. */
  takeLost() {
    const waits = ({ steering, followUp }) => [...steering, ...followUp].map(({ text }) => text);
    const kept = waits(this.queue);
    const lost = this.sent.filter((text) => !kept.includes(text));
    this.sent = this.sent.filter((text) => kept.includes(text));
    return lost;
  }

  /** Reads everything anew; `snapshot` is how the server has it. Events that come meanwhile wait. */
  async reload(snapshot = null) {
    const buffer = (this.#buffer = []);
    try {
      const [facts, page] = await Promise.all([
        this.ask("get_state"),
        this.ask("read_transcript", { page: { at: "end" } }),
      ]);
      const agent = facts.isStreaming ? await this.ask("get_agent_state") : null;
      // What came before the agent's answer is in that answer.
      const seen = buffer.length;
      if (this.#buffer !== buffer) return;
      this.#take(facts, page, agent);
      if (snapshot) this.#stand(snapshot);
      this.#buffer = null;
      buffer.forEach(
        ([type, payload], place) => (place >= seen || !PARTIAL.has(payload?.type)) && this.#hear(type, payload),
      );
      this.ready = true;
      this.tell("reset");
      this.tell("status");
      this.tell("queue");
      this.tell("fan");
      this.tell("company");
      const open = await this.ask("list_questions");
      (open.questions ?? []).forEach((question) => this.#asked(fromQuestion(question)));
      await this.readTree();
    } catch (error) {
      if (this.#buffer === buffer) this.#buffer = null;
      if (error.constructor.name !== "Lost") throw error;
    }
  }

  #take(facts, page, agent) {
    this.facts = facts;
    this.running = facts.isStreaming;
    this.phase = "";
    this.sent = [];
    this.setMessages(page.messages ?? [], page.atStart ?? true);
    const pending = new Set(agent?.pendingToolCalls ?? []);
    for (const [id, call] of this.calls) if (!call.result) call.state = pending.has(id) ? "running" : "ended";
    this.queue = { steering: agent?.steering ?? [], followUp: agent?.followUp ?? [] };
    if (agent?.partial) {
      const item = this.add({ role: "assistant", ...agent.partial }, { live: true });
      for (const block of item.message.content) this.noteCall(block, "writing");
    }
  }

  /** What goes on beside the messages is what these events say. */
  #stand({ events }) {
    [this.fan, this.company] = [null, null];
    for (const event of events) if (STANDING.has(event.type)) handlers[event.type](this, event);
  }

  /** The messages are these. */
  setMessages(messages, atStart) {
    this.items = [];
    this.calls = new Map();
    this.atStart = atStart;
    for (const message of messages) this.add(message, { entryId: message.entryId });
    if (!this.running) for (const call of this.calls.values()) if (!call.result) call.state = "ended";
  }

  /** Adds a message; results of tools go to their calls and are no items. */
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
    if (known) Object.assign(known, { arguments: block.arguments ?? known.arguments, name: block.name });
    else
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
  }

  find(id) {
    return this.items.findLast((item) => item.id === id);
  }

  /** Puts the messages before the first one in front. */
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
    this.tell("reset", { earlier: true });
  }

  /** The lanes of a fan are gone. */
  endFan() {
    this.fan = null;
    this.tell("fan");
  }

  async readTree() {
    const { outline } = await this.ask("get_tree");
    this.tree = new Tree(outline);
    this.tell("tree");
  }

  /** Answers a question; it stays open when the answer does not fit. */
  async answer(id, answer) {
    const request = this.questions.get(id);
    this.questions.delete(id);
    this.tell("closed", { id });
    try {
      await this.ask("answer_question", { questionId: id, answer });
    } catch (error) {
      if (request && error.constructor.name !== "Lost") this.#asked(request);
      throw error;
    }
  }

  #hear(type, payload) {
    if (this.#buffer) return void this.#buffer.push([type, payload]);
    if (type === "event") handlers[payload.type]?.(this, payload);
    else if (type === "ui_request") this.#asked(payload);
    else if (type === "ui_closed") this.#closedQuestion(payload.id);
    else if (type === "error")
      this.tell("notice", { severity: "error", text: payload.message ?? payload.error ?? "Something went wrong." });
  }

  #asked(request) {
    if (request.method === "notify")
      return this.tell("notice", { severity: request.severity, text: request.title });
    if (this.questions.has(request.id)) return;
    this.questions.set(request.id, request);
    this.tell("question", { request });
  }

  #closedQuestion(id) {
    if (this.questions.delete(id)) this.tell("closed", { id });
  }

  tell(type, detail = {}) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** Events about the answer that streams. */
const PARTIAL = new Set(["message_update", "message_start", "message_end", "message_retracted"]);

/** Events about what is neither in the messages nor in the facts. */
const STANDING = new Set(["fan_started", "lane_update", "fan_ended", "lane_conflicts", "presence"]);

/** A question as `list_questions` tells it, in the form of a `ui_request`. */
function fromQuestion({ kind, ...question }) {
  const { type, ...rest } = kind;
  return { ...question, ...rest, method: type === "input" && kind.multiline ? "editor" : type };
}
