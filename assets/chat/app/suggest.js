// Completion: `/` for commands, `@` for files. The arrow keys select, Tab or Enter inserts, Escape closes.

import { el } from "./dom.js";
import { completions } from "./slash.js";
import { showError } from "./toast.js";

const MAX_SUGGESTIONS = 8;

/** The completions of each prefix; `pattern` has the word after it, up to the cursor. */
const SOURCES = {
  "/": {
    pattern: /^\/([^\s/]*)$/,
    load: completions,
  },
  "@": {
    pattern: /(?:^|\s)@(\S*)$/,
    load: (conversation) =>
      conversation.ask("list_files").then(({ paths }) => paths.map((value) => ({ value, note: "" }))),
  },
};

export class Suggestions {
  #choices = [];
  #at = 0;
  /** Loaded completions by prefix, for one conversation. */
  #loaded = new Map();
  #conversation = null;

  constructor(field) {
    this.field = field;
    this.list = el("div", {
      class: "suggestions",
      id: "suggestions",
      role: "listbox",
      "aria-label": "Suggestions",
      hidden: true,
    });
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", "suggestions");
    field.addEventListener("blur", () => setTimeout(() => document.activeElement !== field && this.close(), 150));
  }

  /** The text has changed. */
  async update(conversation) {
    if (this.#conversation !== conversation) [this.#conversation, this.#loaded] = [conversation, new Map()];
    const before = this.#before();
    const prefix = Object.keys(SOURCES).find((prefix) => SOURCES[prefix].pattern.test(before));
    if (!prefix || !conversation) return this.close();
    const all = await this.#load(prefix, conversation);
    if (this.#before() !== before || this.#conversation !== conversation) return;
    this.#prefix = prefix;
    this.#show(rank(all, this.#word(before).toLowerCase()));
  }

  /** The text before the cursor. */
  #before() {
    return this.field.value.slice(0, this.field.selectionStart);
  }

  /** The word after the prefix; `null` if the text is no longer one to complete. */
  #word(before) {
    return SOURCES[this.#prefix]?.pattern.exec(before)?.[1] ?? null;
  }

  /** The completions of a prefix. After an error, the next key tries again. */
  #load(prefix, conversation) {
    const loaded = this.#loaded;
    const load = () =>
      SOURCES[prefix].load(conversation).catch((error) => (loaded.delete(prefix), showError(error), []));
    if (!loaded.has(prefix)) loaded.set(prefix, load());
    return loaded.get(prefix);
  }
  #prefix = "";

  #show(choices) {
    this.#choices = choices;
    this.#at = 0;
    this.list.hidden = choices.length === 0;
    this.list.replaceChildren(
      ...choices.map((choice, place) => {
        const row = el(
          "div",
          { class: "suggestion", role: "option", id: `suggestion-${place}` },
          el("span", {}, this.#prefix + choice.value),
          el("small", {}, choice.note),
        );
        row.addEventListener("pointerdown", (event) => (event.preventDefault(), this.#insert(place)));
        return row;
      }),
    );
    this.#mark();
  }

  #mark() {
    [...this.list.children].forEach((row, place) => row.setAttribute("aria-selected", String(place === this.#at)));
    if (this.#choices.length) this.field.setAttribute("aria-activedescendant", `suggestion-${this.#at}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  /** Handles a key; returns whether the list used it. */
  key({ key }) {
    if (this.list.hidden) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step) this.#at = (this.#at + step + this.#choices.length) % this.#choices.length;
    else if (key === "Tab" || key === "Enter") this.#insert(this.#at);
    else if (key === "Escape") this.close();
    else return false;
    this.#mark();
    return true;
  }

  #insert(place) {
    const { field } = this;
    const end = field.selectionStart;
    const word = this.#word(this.#before());
    const { value } = this.#choices[place];
    this.close();
    if (word === null) return;
    field.setRangeText(value.endsWith("/") ? value : `${value} `, end - word.length, end, "end");
    field.dispatchEvent(new Event("input"));
  }

  close() {
    // The agent writes files meanwhile: the next list is read again.
    this.#loaded.delete("@");
    this.list.hidden = true;
    this.#choices = [];
    this.#mark();
  }
}

/** Prefix matches first, then matches at the start of a path component, then other matches. */
function rank(all, word) {
  const score = (value) => {
    const text = value.toLowerCase();
    if (text.startsWith(word)) return 0;
    if (text.includes(`/${word}`)) return 1;
    return text.includes(word) ? 2 : 3;
  };
  const scored = all.map((choice) => [score(choice.value), choice]).filter(([points]) => points < 3);
  return scored
    .sort(([a], [b]) => a - b)
    .slice(0, MAX_SUGGESTIONS)
    .map(([, choice]) => choice);
}
