// Sent messages without a response. When a page is closed too early, its messages become drafts; the next page removes the
// drafts of messages that the server has received.

const PREFIX = "osier.unsent.";

export class Unsent {
  /** Oldest first: `{session, text, images, after}`; `after` is the id of the last entry when it was sent. */
  #waiting = new Set();

  constructor(drafts) {
    this.drafts = drafts;
  }

  /** Whether a message with images waits: they would be lost with the page. */
  get hasImages() {
    return [...this.#waiting].some(({ images }) => images.length > 0);
  }

  /** Returns what `sent`, the response about a message, returns. */
  async wait(message, sent) {
    this.#waiting.add(message);
    try {
      return await sent;
    } finally {
      this.#waiting.delete(message);
    }
  }

  /** Stores the messages. Commands are not sent again. */
  store() {
    const messages = [...this.#waiting].filter(({ text }) => !/^[/!]/.test(text));
    for (const { session, text } of messages.toReversed()) this.drafts.prepend(session, text);
    const bySession = Map.groupBy(messages, ({ session }) => session);
    for (const [session, list] of bySession) write(session, list.map(({ text, after }) => ({ text, after })));
  }

  /** The texts of messages of an earlier page that the conversation has. They are no drafts any more. */
  take({ id, items, queue }) {
    const messages = read(id);
    write(id, null);
    return messages
      .filter(({ text, after }) => {
        const known = items.findIndex(({ entryId }) => entryId === after);
        const later = items.slice(known + 1).filter(({ role }) => role === "user");
        return [...later.map(({ message }) => message), ...queue.steering, ...queue.followUp].some((other) => other.text === text);
      })
      .map(({ text }) => text);
  }
}

function write(session, messages) {
  try {
    if (messages) localStorage.setItem(PREFIX + session, JSON.stringify(messages));
    else localStorage.removeItem(PREFIX + session);
  } catch {
    // The browser allows no storage.
  }
}

function read(session) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + session)) ?? [];
  } catch {
    return [];
  }
}
