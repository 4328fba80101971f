// Questions of the agent: permissions, choices, texts, forms. One card above the input field at a time, oldest first.
// A card covers nothing. Escape collapses it to a button.

import { diff } from "./diff.js";
import { announce, byId, el, iconButton } from "./dom.js";
import { fields, values } from "./form.js";
import { show } from "./markdown.js";
import { showError } from "./toast.js";

/** A card takes no answer for this time, in milliseconds: the click or key is meant for what was there before. */
const TIME_TO_READ = 600;

export class Questions {
  #card = null;
  #shown = null;
  #later = new Set();

  show(conversation) {
    this.#close();
    this.#later.clear();
    this.conversation = conversation;
    this.next();
  }

  /** A question was opened or closed. */
  next() {
    const open = [...(this.conversation?.questions.values() ?? [])];
    if (this.#shown && !open.some(({ id }) => id === this.#shown)) this.#close();
    const waiting = open.filter(({ id }) => this.#later.has(id));
    this.#banner(waiting);
    const next = open.find(({ id }) => !this.#later.has(id));
    if (next && !this.#card) this.#open(next);
  }

  #banner(waiting) {
    const banner = byId("activity");
    banner.querySelector(".waiting-question")?.remove();
    if (waiting.length === 0) return;
    banner.hidden = false;
    const button = el(
      "button",
      { class: "plain waiting-question", type: "button" },
      `Answer: ${waiting[0].title.slice(0, 80)}`,
    );
    button.addEventListener("click", () => {
      this.#later.delete(waiting[0].id);
      this.next();
      this.#focus();
    });
    banner.append(button);
  }

  #open(request) {
    const answer = (reply) => {
      const { id } = request;
      this.#close();
      this.conversation.answer(id, reply).catch(showError);
      this.next();
    };
    const later = () => {
      this.#later.add(request.id);
      this.#close();
      this.next();
      byId("prompt").focus();
    };
    const { content, buttons, submit } = (METHODS[request.method] ?? METHODS.confirm)(request, answer);
    this.#shown = request.id;
    const form = el(
      "form",
      {},
      heading(request, later),
      el("div", { class: "content" }, subject(request.subject), content),
      el("footer", {}, buttons),
    );
    form.addEventListener("submit", (event) => (event.preventDefault(), submit?.()));
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") (event.stopPropagation(), later());
      // A key that is held answers one card only.
      else if (event.key === "Enter" && event.repeat) event.preventDefault();
      // A word is meant for the message: the space in it must press no button.
      else if (isLetter(event) && !event.target.matches("input, textarea, select")) byId("prompt").focus();
    });
    const card = (this.#card = el("section", { class: "ask", "aria-labelledby": "question-title", tabindex: "-1" }, form));
    byId("question").replaceChildren(card);
    byId("question").hidden = false;
    this.#wait(card);
    announce(`A question: ${request.title}`);
  }

  /** The card takes answers when it could be read. */
  #wait(card) {
    const controls = [...card.querySelectorAll("button, input, select, textarea")].filter(({ disabled }) => !disabled);
    for (const control of controls) control.disabled = true;
    setTimeout(() => {
      for (const control of controls) control.disabled = false;
      if (this.#card === card) this.#takeFocus();
    }, TIME_TO_READ);
  }

  /** A draft keeps the focus: keys that are meant for it answer nothing. */
  #takeFocus() {
    const { activeElement } = document;
    if (activeElement === document.body || (activeElement === byId("prompt") && !byId("prompt").value)) this.#focus();
  }

  /** Collapses the card to a button; returns whether there was one. */
  collapse() {
    const button = this.#card?.querySelector("header button");
    button?.click();
    return Boolean(button);
  }

  /** Focuses the first control, and keeps the start of the card in sight. A control out of sight gets no focus. */
  #focus() {
    const card = this.#card;
    const first = card?.querySelector("[data-first]") ?? card?.querySelector("input, textarea, select");
    const isInSight = first && first.getBoundingClientRect().bottom <= innerHeight;
    (isInSight ? first : card)?.focus({ preventScroll: true });
  }

  #close() {
    const hadFocus = this.#card?.contains(document.activeElement);
    this.#card = null;
    this.#shown = null;
    byId("question").replaceChildren();
    byId("question").hidden = true;
    if (hadFocus) byId("prompt").focus({ preventScroll: true });
  }
}

/** Whether a key types a letter, digit or sign. */
const isLetter = ({ key, ctrlKey, metaKey, altKey }) => key.length === 1 && key !== " " && !ctrlKey && !metaKey && !altKey;

/** The subject first, so that a question about a file names it; then the question and who asks. */
function heading({ title, origin, subagent, subject }, later) {
  const path = subject?.type === "diff" ? subject.path : null;
  return el(
    "header",
    {},
    el("h2", { id: "question-title" }, path && el("span", { class: "path" }, path), el("span", {}, title)),
    origin && el("p", { class: "origin" }, `Asked by ${[subagent, origin.replaceAll("`", "")].filter(Boolean).join(", ")}`),
    iconButton("down", "Answer later", later),
  );
}

function subject(about) {
  if (!about) return null;
  if (about.type === "diff") return diff(about.diff, about.path);
  if (about.type === "markdown") {
    const node = el("div", { class: "prose plan", tabindex: "0" });
    show(node, about.text);
    return node;
  }
  const text = about.type === "command" ? `$ ${about.command}` : about.text;
  return [
    el("pre", { class: "output", tabindex: "0" }, text),
    about.cwd && el("p", { class: "origin" }, `in ${about.cwd}`),
  ];
}

const button = (label, kind, press, attributes = {}) => {
  const node = el("button", { class: kind, type: press ? "button" : "submit", ...attributes }, label);
  if (press) node.addEventListener("click", press);
  return node;
};

/** The choice of the pattern that "for this session" and "for this project" allow, the narrowest first. */
function choicesOf(patterns, subject) {
  if (patterns.length === 0) return null;
  // A pattern escapes the signs that mean something in it.
  const isWhole = (pattern) => subject?.type === "command" && pattern.replace(/\\(.)/g, "$1") === `bash(${subject.command})`.replace(/\\(.)/g, "$1");
  if (patterns.length === 1 && isWhole(patterns[0]))
    return el("p", { class: "origin" }, "For the session or project: exactly this command.");
  if (patterns.length === 1)
    return el("p", { class: "origin" }, "For the session or project: all calls of ", el("code", {}, patterns[0]));
  return [
    el("p", { class: "origin", id: "patterns" }, "For the session or project, all calls of"),
    el(
      "div",
      { role: "radiogroup", "aria-labelledby": "patterns" },
      patterns.map((value, place) =>
        el(
          "label",
          {},
          el("input", { type: "radio", name: "pattern", value, checked: place === 0 }),
          isWhole(value) ? "exactly this command" : el("code", {}, value),
        ),
      ),
    ),
  ];
}

/** The content, buttons and answer of each method. */
const METHODS = {
  permission(request, answer) {
    const patterns = request.patterns ?? [];
    const reason = el("input", {
      type: "text",
      placeholder: "Reason (optional, sent to the model)",
      "aria-label": "Reason",
    });
    const pattern = () => form.querySelector("input:checked")?.value ?? patterns[0];
    const allow = (type) => answer({ type: "allow", grant: type === "once" ? { type } : { type, pattern: pattern() } });
    const refuse = () => answer({ type: "refuse", reason: reason.value.trim() || null });
    const form = el("div", { class: "patterns" }, choicesOf(patterns, request.subject));
    const given = request.subject
      ? null
      : el("pre", { class: "output", tabindex: "0" }, JSON.stringify(request.arguments, null, 2));
    const longer = [
      button("Allow for this session", "plain", () => allow("session")),
      button("Allow for this project", "plain", () => allow("project")),
    ];
    return {
      content: [given, patterns.length > 0 && form],
      buttons: [
        button("Allow once", "primary", () => allow("once"), { data: { first: "" } }),
        ...(patterns.length > 0 ? longer : []),
        el("div", { class: "refuse" }, reason, button("Refuse", "danger", refuse)),
      ],
      // Enter in the field with the reason.
      submit: refuse,
    };
  },
  plan(request, answer) {
    const original = request.subject?.text ?? "";
    const modes = el(
      "select",
      { "aria-label": "Continue in mode" },
      (request.modes ?? []).map((mode) =>
        el("option", { value: mode }, mode === request.before ? `${mode} (as before)` : mode),
      ),
    );
    const editor = el("textarea", { rows: "12", "aria-label": "Plan", value: original });
    const edit = el("details", {}, el("summary", {}, "Edit the plan"), editor);
    const reason = el("input", {
      type: "text",
      placeholder: "Reason to keep planning (optional, sent to the model)",
      "aria-label": "Reason",
    });
    const keep = () => answer({ type: "refuse", reason: reason.value.trim() || null });
    const approve = () => {
      const changed = editor.value.trim() && editor.value !== original;
      answer({ type: "approve", mode: modes.value, plan: changed ? editor.value : null });
    };
    return {
      content: [
        request.path && el("p", { class: "origin" }, `Saved in ${request.path}`),
        edit,
        el("label", { class: "grant" }, el("span", {}, "Continue in mode"), modes),
        reason,
      ],
      buttons: [
        button("Keep planning", "plain first", keep),
        button("Approve", "primary", null, { data: { first: "" } }),
      ],
      submit: () => (document.activeElement === reason && reason.value.trim() ? keep() : approve()),
    };
  },
  confirm: (_, answer) => ({
    content: null,
    buttons: [
      button("No", "plain", () => answer({ type: "refuse", reason: null })),
      button("Yes", "primary", null, { data: { first: "" } }),
    ],
    submit: () => answer({ type: "yes" }),
  }),
  visit: ({ url }, answer) => ({
    content: /^https?:\/\//i.test(url)
      ? el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url)
      : el("p", {}, url),
    buttons: [
      button("No", "plain", () => answer({ type: "refuse", reason: null })),
      button("Done, continue", "primary"),
    ],
    submit: () => answer({ type: "yes" }),
  }),
  select({ choices, other }, answer) {
    const buttons = choices.map(({ value, label, description }, place) =>
      el(
        "button",
        {
          class: "choice",
          type: "button",
          data: place === 0 ? { first: "" } : {},
          on: { click: () => answer({ type: "text", text: value }) },
        },
        label || value,
        description && el("small", {}, description),
      ),
    );
    const dismiss = button("Dismiss", "plain", () => answer({ type: "dismissed" }));
    if (!other) return { content: buttons, buttons: [dismiss] };
    const field = el("input", {
      type: "text",
      autocomplete: "off",
      placeholder: "Other answer",
      "aria-label": "Other answer",
    });
    return {
      content: [...buttons, el("div", { class: "field" }, field)],
      buttons: [dismiss, button("Send", "primary")],
      submit: () => field.value.trim() && answer({ type: "text", text: field.value }),
    };
  },
  input: (request, answer) =>
    text(
      el("input", {
        type: request.secret ? "password" : "text",
        autocomplete: "off",
        placeholder: request.placeholder,
        value: request.prefill ?? "",
        "aria-label": request.title,
      }),
      answer,
    ),
  editor: (request, answer) =>
    text(
      el("textarea", {
        rows: "8",
        placeholder: request.placeholder,
        value: request.prefill ?? "",
        "aria-label": request.title,
      }),
      answer,
    ),
  form({ schema }, answer) {
    const made = fields(schema);
    return {
      content: made.map(({ node }) => node),
      buttons: [
        button("Decline", "plain", () => answer({ type: "refuse", reason: null })),
        button("Send", "primary"),
      ],
      submit: () => answer({ type: "values", values: values(made) }),
    };
  },
};

function text(field, answer) {
  return {
    content: el("div", { class: "field" }, field),
    buttons: [button("Dismiss", "plain", () => answer({ type: "dismissed" })), button("Send", "primary")],
    submit: () => answer({ type: "text", text: field.value }),
  };
}
