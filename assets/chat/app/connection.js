// The WebSocket connection: sends commands and receives events. Reconnects automatically and fetches missed events.

import { signInSecret } from "./api.js";
import { clientKey, clientName } from "./presence.js";

const FIRST_DELAY = 400;
const MAX_DELAY = 10_000;

/** Silence after which the page asks for a sign of life, and time to wait for it, in milliseconds. */
const SILENCE = 3500;
const PATIENCE = 5000;
const TICK = 500;
/** Longest wait: a slow connection may need long for one large frame. */
const MAX_PATIENCE = 60_000;

/** The connection was lost; the command may have been executed. */
export class ConnectionLost extends Error {
  constructor() {
    super("The connection was lost before the response arrived.");
  }
}

export class Connection extends EventTarget {
  #socket = null;
  #delay = FIRST_DELAY;
  #timer = null;
  #next = 1;
  #pending = new Map();
  #sessions = new Map();
  #active = false;
  /** When the last frame arrived, when a sign of life was requested, and how long to wait for it. */
  #heard = 0;
  #asked = 0;
  #patience = PATIENCE;
  /** Resolves when the frames that arrived so far are handled: compressed ones need a moment, and the order stays. */
  #reading = null;
  #client = { name: clientName(), key: clientKey() };

  /** `probe()`: whether the browser is signed in; throws when the server cannot be reached. */
  constructor(probe) {
    super();
    this.probe = probe;
    setInterval(() => this.#checkConnection(), TICK);
    addEventListener("online", () => this.#reconnectNow());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#reconnectNow());
  }

  get connected() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  start() {
    this.#active = true;
    if (!this.#socket) this.#connect();
  }

  stop() {
    this.#active = false;
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  /**
   * Returns the data of the command, or throws its error. With `once` it waits for a connection and is sent again after a lost
   * one; the server executes it once.
   */
  command(sessionId, command, { once = false } = {}) {
    return this.#send({ sessionId, command, once: once ? `${this.#client.key}-${this.#next}` : undefined });
  }

  /**
   * Calls `onFrame(type, payload)` for every frame of a session, and `onSnapshot(snapshot)` when events were lost.
   * Returns a snapshot, or null without a connection.
   */
  async subscribe(sessionId, { onFrame, onSnapshot }) {
    const session = { onFrame, onSnapshot, last: undefined };
    this.#sessions.set(sessionId, session);
    if (!this.connected) return null;
    const { number, snapshot } = await this.#send({ type: "subscribe", sessionId, client: this.#client });
    session.last ??= number;
    return snapshot;
  }

  unsubscribe(sessionId) {
    if (!this.#sessions.delete(sessionId) || !this.connected) return;
    this.#send({ type: "unsubscribe", sessionId }).catch(() => {});
  }

  #send(request) {
    if (!this.connected && !request.once) return Promise.reject(new ConnectionLost());
    const frame = { id: this.#next++, ...request };
    return new Promise((resolve, reject) => {
      this.#pending.set(frame.id, { frame, resolve, reject });
      if (this.connected) this.#transmit(frame);
    });
  }

  #transmit(frame) {
    this.#emit("out", frame);
    this.#socket.send(JSON.stringify(frame));
  }

  #settle(id, how) {
    const open = this.#pending.get(id);
    if (!open) return;
    this.#pending.delete(id);
    how(open);
  }

  #connect() {
    const address = new URL("/api/ws", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = (this.#socket = new WebSocket(address, ["osier", `osier-secret.${signInSecret()}`]));
    let opened = false;
    socket.binaryType = "arraybuffer";
    this.#reading = null;
    socket.onopen = () => {
      opened = true;
      this.#heard = Date.now();
      this.#asked = 0;
      this.#delay = FIRST_DELAY;
      // The server sends large frames compressed.
      if (globalThis.DecompressionStream) this.#send({ type: "hello", compression: "gzip" }).catch(() => {});
      const unanswered = [...this.#pending.values()].filter(({ frame }) => frame.once);
      this.#resume();
      for (const { frame } of unanswered) this.#transmit(frame);
      this.#emit("state", "open");
    };
    socket.onmessage = (message) => {
      this.#heard = Date.now();
      this.#asked = 0;
      this.#patience = PATIENCE;
      this.#onMessage(socket, message.data);
    };
    socket.onclose = () => this.#onClose(opened);
  }

  /** Detects a dead connection that is still open: the server answers within seconds, or the page reconnects. */
  #checkConnection() {
    if (!this.connected) return;
    const now = Date.now();
    if (this.#asked) {
      if (now - this.#asked < this.#patience) return;
      this.#patience = Math.min(this.#patience * 2, MAX_PATIENCE);
      const socket = this.#socket;
      socket.onmessage = socket.onclose = null;
      socket.close();
      this.#onClose(true);
    } else if (now - this.#heard >= SILENCE) {
      this.#asked = now;
      this.#send({ type: "hello" }).catch(() => {});
    }
  }

  /** Subscribes again to all sessions, from the last received event. */
  #resume() {
    for (const [sessionId, session] of this.#sessions) {
      const after = session.last;
      this.#send({ type: "subscribe", sessionId, after, client: this.#client }).then(
        ({ number, snapshot }) => {
          session.last ??= number;
          if (after === undefined) session.onSnapshot(snapshot);
        },
        (error) => session.onFrame("error", { message: error.message }),
      );
    }
  }

  async #onClose(opened) {
    this.#socket = null;
    for (const [id, { frame }] of [...this.#pending])
      if (!frame.once) this.#settle(id, (open) => open.reject(new ConnectionLost()));
    if (!this.#active) return;
    this.#emit("state", "lost");
    if (!opened) {
      const signedIn = await this.probe().catch(() => true);
      if (!signedIn) return this.#emit("state", "denied");
    }
    const delay = this.#delay * (0.75 + Math.random() / 2);
    this.#delay = Math.min(this.#delay * 2, MAX_DELAY);
    this.#timer = setTimeout(() => this.#active && !this.#socket && this.#connect(), delay);
  }

  /** Reconnects at once when the network or the user is back. */
  #reconnectNow() {
    if (!this.#active || this.#socket) return;
    clearTimeout(this.#timer);
    this.#delay = FIRST_DELAY;
    this.#connect();
  }

  /** Handles frames in their order: frames after a compressed frame wait for it. */
  #onMessage(socket, data) {
    if (typeof data === "string" && !this.#reading) return this.#onFrame(JSON.parse(data));
    const text = typeof data === "string" ? data : decompressed(data);
    const before = this.#reading;
    const reading = (async () => {
      await before;
      const frame = JSON.parse(await text);
      if (this.#socket === socket) this.#onFrame(frame);
    })()
      .catch(() => socket.close())
      .finally(() => {
        if (this.#reading === reading) this.#reading = null;
      });
    this.#reading = reading;
  }

  #onFrame(frame) {
    this.#emit("in", frame);
    if (frame.type === "response") return this.#onResponse(frame);
    if (frame.type === "error" && this.#pending.has(frame.payload?.id)) return this.#reject(frame.payload);
    const session = this.#sessions.get(frame.sessionId);
    if (!session) return;
    if (typeof frame.number === "number") session.last = frame.number;
    if (frame.type === "replay_gap") session.onSnapshot(frame.payload);
    else session.onFrame(frame.type, frame.payload);
  }

  #onResponse({ payload }) {
    if (payload.success) this.#settle(payload.id, (open) => open.resolve(payload.data ?? {}));
    else this.#reject({ id: payload.id, message: payload.error, code: payload.code });
  }

  #reject({ id, message, code }) {
    const error = new Error(message ?? "The agent refused the command.");
    error.code = code;
    this.#settle(id, (open) => open.reject(error));
  }

  #emit(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}

/** The text of a compressed message. */
function decompressed(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
