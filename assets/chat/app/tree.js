// The branches of a session: alternatives of each message, and the end of each branch.

/** Kinds of entries that are messages. */
const MESSAGES = new Set(["user", "assistant", "tool_result", "message", "compaction", "branch_summary"]);

export class Tree {
  #entries;
  #places = new Map();
  #children = new Map();
  #labels = new Map();
  #hidden;
  #newest;

  /** `outline`: the result of `get_tree`; `entries` are `[id, parent's number, kind]`. */
  constructor(outline = { entries: [], labels: [], hidden: [] }) {
    this.#entries = outline.entries;
    this.#hidden = new Set(outline.hidden);
    for (const [number, label] of outline.labels) this.#labels.set(outline.entries[number]?.[0], label);
    outline.entries.forEach(([id], number) => this.#places.set(id, number));
    this.#group();
  }

  /** Groups messages by their parent message and finds the newest entry of each branch, in one backward pass. */
  #group() {
    this.#newest = this.#entries.map((_, number) => number);
    for (let number = this.#entries.length - 1; number >= 0; number--) {
      const [, parent, kind] = this.#entries[number];
      if (parent !== null) this.#newest[parent] = Math.max(this.#newest[parent], this.#newest[number]);
      if (!MESSAGES.has(kind) || this.#hidden.has(number)) continue;
      const above = this.#above(parent);
      const list = this.#children.get(above);
      if (list) list.unshift(number);
      else this.#children.set(above, [number]);
    }
  }

  /** The nearest message at or above an entry; `null` before every root. */
  #above(number) {
    while (number !== null && !MESSAGES.has(this.#entries[number][2])) number = this.#entries[number][1];
    return number;
  }

  /** The position of an entry among its alternatives: `{place, count, before, after}`; `null` if it has none. */
  siblings(entryId) {
    const number = this.#places.get(entryId);
    if (number === undefined) return null;
    const list = this.#children.get(this.#above(this.#entries[number][1])) ?? [];
    const place = list.indexOf(number);
    if (list.length < 2 || place < 0) return null;
    const id = (at) => this.#entries[list[at]]?.[0] ?? null;
    return { place: place + 1, count: list.length, before: place > 0 ? id(place - 1) : null, after: id(place + 1) };
  }

  /** The alternatives of an entry: `{id, place}` in order. */
  alternatives(entryId) {
    const number = this.#places.get(entryId);
    if (number === undefined) return [];
    const list = this.#children.get(this.#above(this.#entries[number][1])) ?? [];
    return list
      .map((at, place) => ({ id: this.#entries[at][0], place: place + 1 }))
      .filter(({ id }) => id !== entryId);
  }

  /** The newest entry of the branch of an entry. */
  end(entryId) {
    const number = this.#places.get(entryId);
    return number === undefined ? entryId : this.#entries[this.#newest[number]][0];
  }

  labelOf(entryId) {
    return this.#labels.get(entryId) ?? null;
  }

  label(entryId, label) {
    if (label) this.#labels.set(entryId, label);
    else this.#labels.delete(entryId);
  }
}
