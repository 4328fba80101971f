// Completion: `/` for commands, `@` for files. The arrow keys select, Tab or Enter inserts, Escape closes.

import { el } from "./dom.js";
import { COMPLETIONS } from "./slash.js";
import { showError } from "./toast.js";

const MAX_SUGGESTIONS = 8;

/** The completions of each prefix. */
const SOURCES = {
  "/": {
    fits: (before) => /^\/\S*$/.test(before),
    load: (conversation) =>
      conversation
        .ask("get_commands")
        .then(({ commands }) => [
          ...COMPLETIONS,
          ...commands.map(({ name, description }) => ({ value: name, note: description })),
        ]),
  },
  "@": {
    fits: (before) => /(^|\s)@\S*$/.test(before),
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
    const before = this.field.value.slice(0, this.field.selectionStart);
    const prefix = Object.keys(SOURCES).find((prefix) => SOURCES[prefix].fits(before));
    if (!prefix || !conversation) return this.close();
    if (!this.#loaded.has(prefix))
      this.#loaded.set(
        prefix,
        SOURCES[prefix].load(conversation).catch((error) => (showError(error), [])),
      );
    const all = await this.#loaded.get(prefix);
    const word = before.slice(before.lastIndexOf(prefix) + 1);
    if (this.field.value.slice(0, this.field.selectionStart) !== before) return;
    this.#prefix = prefix;
    this.#show(rank(all, word.toLowerCase()));
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
    const start = field.value.slice(0, end).lastIndexOf(this.#prefix) + 1;
    const { value } = this.#choices[place];
    field.setRangeText(value.endsWith("/") ? value : `${value} `, start, end, "end");
    this.close();
    field.dispatchEvent(new Event("input"));
  }

  close() {
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
