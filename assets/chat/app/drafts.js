// Drafts of messages, one per session, in the browser's storage. They survive a reload and a crash of the browser.

const PREFIX = "osier.draft.";
/** Time without typing after which a draft is stored, in milliseconds. */
const DELAY = 250;

export class Drafts {
  #timer = null;
  #unsaved = null;
  /** The stored drafts as this page knows them, by session: another page may store its own. */
  #known = new Map();

  constructor() {
    addEventListener("pagehide", () => this.flush());
    document.addEventListener("visibilitychange", () => this.flush());
  }

  load(session) {
    this.flush();
    try {
      const text = localStorage.getItem(PREFIX + session) ?? "";
      this.#known.set(session, text);
      return text;
    } catch {
      // The browser allows no storage.
      return "";
    }
  }

  save(session, text) {
    this.#unsaved = { session, text };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), DELAY);
  }

  /** Puts a text before the draft of a session, and stores it. */
  prepend(session, text) {
    this.save(session, [text, this.load(session)].filter(Boolean).join("\n\n"));
    this.flush();
  }

  /** Stores the last draft now. */
  flush() {
    clearTimeout(this.#timer);
    if (!this.#unsaved) return;
    const { session, text } = this.#unsaved;
    this.#unsaved = null;
    try {
      const isOwn = [undefined, localStorage.getItem(PREFIX + session) ?? ""].includes(this.#known.get(session));
      if (text) localStorage.setItem(PREFIX + session, text);
      else if (isOwn) localStorage.removeItem(PREFIX + session);
      if (text || isOwn) this.#known.set(session, text);
    } catch {
      // Full, or not allowed: the draft stays in the field.
    }
  }
}
