// The WebSocket: commands out, events in. It comes back by itself, and goes on where each session was.

import { ownKey, ownName } from "./company.js";

const FIRST_WAIT = 400;
const LONGEST_WAIT = 10_000;
/** A command that has no answer after this long has failed: its connection may be half dead. */
const PATIENCE = 120_000;

/** The connection is gone; whether the command was done is not known. */
export class Lost extends Error {
  constructor() {
    super("The connection was lost before the answer came.");
  }
}

export class Link extends EventTarget {
  #socket = null;
  #wait = FIRST_WAIT;
  #timer = null;
  #next = 1;
  #open = new Map();
  #sessions = new Map();
  #wanted = false;
  #client = { name: ownName(), key: ownKey() };

  /** `probe` tells whether the server still knows us: `true`, `false`, or throws when it cannot be reached. */
  constructor(probe) {
    super();
    this.probe = probe;
    addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#hurry());
  }

  get connected() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  start() {
    this.#wanted = true;
    if (!this.#socket) this.#connect();
  }

  stop() {
    this.#wanted = false;
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  /** Gives what the command gives; throws its error. */
  command(sessionId, command) {
    return this.#ask({ sessionId, command });
  }

  /**
   * `hear(type, payload)` is called with everything of a session; `gap(snapshot)` when something was missed. Gives
   * how everything stands, when the server can be reached.
   */
  async subscribe(sessionId, { hear, gap }) {
    const session = { hear, gap, last: undefined };
    this.#sessions.set(sessionId, session);
    if (!this.connected) return null;
    const { number, snapshot } = await this.#ask({ type: "subscribe", sessionId, client: this.#client });
    session.last ??= number;
    return snapshot;
  }

  unsubscribe(sessionId) {
    if (!this.#sessions.delete(sessionId) || !this.connected) return;
    this.#ask({ type: "unsubscribe", sessionId }).catch(() => {});
  }

  #ask(frame) {
    if (!this.connected) return Promise.reject(new Lost());
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(id, (open) => open.reject(new Lost())), PATIENCE);
      this.#open.set(id, { resolve, reject, timer });
      this.#tell("out", { id, ...frame });
      this.#socket.send(JSON.stringify({ id, ...frame }));
    });
  }

  #settle(id, how) {
    const open = this.#open.get(id);
    if (!open) return;
    clearTimeout(open.timer);
    this.#open.delete(id);
    how(open);
  }

  #connect() {
    const address = new URL("/api/ws", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = (this.#socket = new WebSocket(address));
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#wait = FIRST_WAIT;
      this.#resume();
      this.#tell("state", "open");
    };
    socket.onmessage = (message) => this.#hear(JSON.parse(message.data));
    socket.onclose = () => this.#closed(opened);
  }

  /** Subscribes again to what was heard before, from where it was. */
  #resume() {
    for (const [sessionId, session] of this.#sessions) {
      const after = session.last;
      this.#ask({ type: "subscribe", sessionId, after, client: this.#client }).then(
        ({ number, snapshot }) => {
          session.last ??= number;
          if (after === undefined) session.gap(snapshot);
        },
        (error) => session.hear("error", { message: error.message }),
      );
    }
  }

  async #closed(opened) {
    this.#socket = null;
    for (const id of [...this.#open.keys()]) this.#settle(id, (open) => open.reject(new Lost()));
    if (!this.#wanted) return;
    this.#tell("state", "lost");
    if (!opened) {
      const known = await this.probe().catch(() => true);
      if (!known) return this.#tell("state", "denied");
    }
    const wait = this.#wait * (0.75 + Math.random() / 2);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    this.#timer = setTimeout(() => this.#wanted && !this.#socket && this.#connect(), wait);
  }

  /** Tries at once when the network or the person is back. */
  #hurry() {
    if (!this.#wanted || this.#socket) return;
    clearTimeout(this.#timer);
    this.#wait = FIRST_WAIT;
    this.#connect();
  }

  #hear(frame) {
    this.#tell("in", frame);
    if (frame.type === "response") return this.#answer(frame);
    if (frame.type === "error" && this.#open.has(frame.payload?.id)) return this.#refuse(frame.payload);
    const session = this.#sessions.get(frame.sessionId);
    if (!session) return;
    if (typeof frame.number === "number") session.last = frame.number;
    if (frame.type === "replay_gap") session.gap(frame.payload);
    else session.hear(frame.type, frame.payload);
  }

  #answer({ payload }) {
    if (payload.success) this.#settle(payload.id, (open) => open.resolve(payload.data ?? {}));
    else this.#refuse({ id: payload.id, message: payload.error, code: payload.code });
  }

  #refuse({ id, message, code }) {
    const error = new Error(message ?? "The agent refused it.");
    error.code = code;
    this.#settle(id, (open) => open.reject(error));
  }

  #tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
