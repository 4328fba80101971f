// Questions of the agent: permissions, choices, texts, forms. One dialog at a time, oldest first. Closing a dialog
// defers its question; a button above the input field opens it again.

import { diff } from "./diff.js";
import { announce, byId, el } from "./dom.js";
import { fields, values } from "./form.js";
import { show } from "./markdown.js";
import { showError } from "./toast.js";

export class Questions {
  #dialog = null;
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
    if (next && !this.#dialog) this.#open(next);
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
    button.addEventListener("click", () => (this.#later.delete(waiting[0].id), this.next()));
    banner.append(button);
  }

  #open(request) {
    const answer = (reply) => {
      this.#shown = null;
      this.#close();
      this.conversation.answer(request.id, reply).catch(showError);
      this.next();
    };
    const { content, buttons, submit } = (METHODS[request.method] ?? METHODS.confirm)(request, answer);
    const dialog = (this.#dialog = el("dialog", { class: "question", "aria-labelledby": "question-title" }));
    this.#shown = request.id;
    const form = el(
      "form",
      {},
      el(
        "header",
        {},
        el("h2", { id: "question-title" }, request.title),
        request.origin && el("p", { class: "origin" }, `Asked by ${request.origin.replaceAll("`", "")}`),
      ),
      el("div", { class: "content" }, subject(request.subject), content),
      el("footer", {}, buttons),
    );
    form.addEventListener("submit", (event) => (event.preventDefault(), submit?.()));
    dialog.append(form);
    dialog.addEventListener("cancel", () => {
      this.#later.add(request.id);
      this.#shown = null;
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (this.#dialog === dialog) this.#dialog = null;
      this.next();
    });
    document.body.append(dialog);
    dialog.showModal();
    (dialog.querySelector("[data-first]") ?? dialog.querySelector("input, textarea, select"))?.focus();
    announce(`A question: ${request.title}`);
  }

  #close() {
    const dialog = this.#dialog;
    this.#dialog = null;
    this.#shown = null;
    dialog?.close();
    dialog?.remove();
  }
}

function subject(about) {
  if (!about) return null;
  if (about.type === "diff") return [el("p", { class: "origin" }, about.path), diff(about.diff)];
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

/** The content, buttons and answer of each method. */
const METHODS = {
  permission(request, answer) {
    const patterns = request.patterns ?? [];
    const choices = [
      ["once", "once"],
      ...patterns.flatMap((pattern) => [
        [`session ${pattern}`, `${pattern} for this session`],
        [`project ${pattern}`, `${pattern} always in this project`],
      ]),
    ];
    const select = el(
      "select",
      { "aria-label": "For how long" },
      choices.map(([value, label]) => el("option", { value }, label)),
    );
    const reason = el("input", {
      type: "text",
      placeholder: "Reason (optional, sent to the model)",
      "aria-label": "Reason",
    });
    const allow = () => {
      const [type, ...rest] = select.value.split(" ");
      answer({ type: "allow", grant: type === "once" ? { type } : { type, pattern: rest.join(" ") } });
    };
    const refuse = () => answer({ type: "refuse", reason: reason.value.trim() || null });
    const given = request.subject
      ? null
      : el("pre", { class: "output", tabindex: "0" }, JSON.stringify(request.arguments, null, 2));
    return {
      content: [
        given,
        patterns.length > 0 && el("label", { class: "grant" }, el("span", {}, "Allow"), select),
        reason,
      ],
      buttons: [
        button("Refuse", "danger first", refuse),
        button("Allow", "primary", null, { data: { first: "" } }),
      ],
      submit: () => (document.activeElement === reason && reason.value.trim() ? refuse() : allow()),
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
