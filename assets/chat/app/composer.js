// The input field: text, images and voice. Sends or queues messages, and stops the run.

import { hasCamera, takePicture } from "./camera.js";
import { Drafts } from "./drafts.js";
import { byId, el, glyph, iconButton } from "./dom.js";
import { line, modelName } from "./format.js";
import { documentOf, filesOf, isImage, picture, sourceOf } from "./images.js";
import { modeName } from "./modes.js";
import { Suggestions } from "./suggest.js";
import { showError, toast } from "./toast.js";
import { Unsent } from "./unsent.js";
import { Voice, canListen } from "./voice.js";

/** Most images and files of one message. */
const MAX_IMAGES = 8;

/** A file of a sent message, as the composer has it. */
const chip = (attachment) => ({ attachment, url: sourceOf(attachment), name: attachment.fileName });

export class Composer {
  /** The session that is shown. */
  #session = null;
  /** Images and files of the message: `{url, name}` with `data`, or with an `attachment` as the agent stores it. */
  #images = [];
  /** The sent message that is edited, and meanwhile the images of the draft. */
  #editing = null;
  #aside = [];
  /** The state of the sessions that are not shown, besides their drafts: `{images, editing, aside, text}`. */
  #kept = new Map();
  #drafts = new Drafts();
  #unsent = new Unsent(this.#drafts);
  /** The texts at the start of the field that could not be sent. */
  #returned = "";

  /** `send({text, images, attachments, editing, followUp})` returns a promise. */
  constructor({ send, stop, recall, collapse, model, mode }) {
    Object.assign(this, { send, stop, recall, collapse });
    this.form = byId("composer");
    this.#build(model, mode);
    this.#listen();
    this.update(null);
  }

  #build(model, mode) {
    this.field = el("textarea", {
      id: "prompt",
      dir: "auto",
      rows: "1",
      "aria-label": "Message",
      enterkeyhint: "enter",
      autocapitalize: "sentences",
    });
    this.note = el("div", { class: "editing", hidden: true });
    this.imageList = el("div", { class: "pictures", hidden: true });
    this.files = el("input", {
      type: "file",
      multiple: true,
      hidden: true,
      "aria-label": "Files",
    });
    this.camera = el("input", {
      type: "file",
      accept: "image/*",
      capture: "environment",
      hidden: true,
      "aria-label": "Camera",
    });
    this.model = el(
      "button",
      { class: "chip-button model", type: "button", title: "Model", "aria-haspopup": "dialog", on: { click: model } },
      el("span"),
    );
    this.mode = el(
      "button",
      {
        class: "chip-button mode",
        type: "button",
        title: "Permissions",
        "aria-haspopup": "menu",
        on: { click: () => mode(this.mode) },
      },
      el("span"),
    );
    this.stopButton = el(
      "button",
      {
        class: "stop",
        type: "button",
        "aria-label": "Stop",
        title: "Stop (Esc)",
        hidden: true,
        on: { click: () => this.stop() },
      },
      glyph("stop"),
    );
    this.sendButton = el("button", { class: "send", type: "submit", "aria-label": "Send" }, glyph("send"));
    const touch = matchMedia("(pointer: coarse)").matches;
    const row = el(
      "div",
      { class: "composer-row" },
      iconButton("picture", "Add files", () => this.files.click()),
      (touch || hasCamera) && iconButton("camera", "Take a picture", () => this.#takePicture(touch)),
      canListen && this.#microphone(),
      el("span", { class: "gap" }),
      this.mode,
      this.model,
      this.stopButton,
      this.sendButton,
    );
    this.suggestions = new Suggestions(this.field);
    this.form.append(this.note, this.imageList, this.suggestions.list, this.field, row, this.files, this.camera);
  }

  /** Opens the camera app of a phone, or the camera dialog on a desktop. */
  #takePicture(touch) {
    if (touch) return this.camera.click();
    takePicture().then((taken) => taken && this.#add([taken]), showError);
  }

  #microphone() {
    const button = iconButton("voice", "Dictate", () => this.voice.toggle(), { "aria-pressed": "false" });
    this.voice = new Voice(this.field, {
      fault: (text) => toast(text, "warning"),
      state: (listening) => {
        button.classList.toggle("listening", listening);
        button.setAttribute("aria-pressed", String(listening));
      },
    });
    return button;
  }

  #listen() {
    this.form.addEventListener(
      "submit",
      (event) => (event.preventDefault(), this.#submit(event.submitter?.dataset.later === "true")),
    );
    this.field.addEventListener("input", () => {
      this.#resize();
      this.#save();
      this.suggestions.update(this.conversation);
    });
    this.field.addEventListener("keydown", (event) => this.#key(event));
    this.field.addEventListener("paste", (event) => {
      // Office programs paste their files as text, too.
      const files = filesOf(event.clipboardData).filter(isImage);
      if (files.length) event.preventDefault();
      this.#add(files);
    });
    for (const input of [this.files, this.camera]) {
      input.addEventListener("change", () => {
        this.#add([...input.files]);
        input.value = "";
      });
    }
    addEventListener("pagehide", () => {
      // Another page of this session may have stored its draft.
      this.#save();
      this.#drafts.flush();
      this.#unsent.store();
    });
    // Only texts are stored: the browser asks before images are lost.
    addEventListener("beforeunload", (event) => this.#hasImages() && event.preventDefault());
    const main = byId("main");
    main.addEventListener("dragover", (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      this.form.classList.add("drop");
    });
    main.addEventListener("dragleave", () => this.form.classList.remove("drop"));
    main.addEventListener("drop", (event) => {
      event.preventDefault();
      this.form.classList.remove("drop");
      this.#add(filesOf(event.dataTransfer));
    });
  }

  #key(event) {
    if (event.isComposing) return;
    if (this.suggestions.key(event)) return event.preventDefault();
    const isTouch = matchMedia("(pointer: coarse)").matches;
    if (event.key === "Enter" && !event.shiftKey && (!isTouch || event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#submit(event.altKey);
    } else if (event.key === "Escape") {
      if (this.#editing) this.#empty();
      else if (this.collapse()) return;
      else if (this.conversation?.running) this.stop();
    } else if (event.key === "ArrowUp" && !this.field.value && this.conversation?.running) {
      this.recall();
    }
  }

  async #add(files) {
    for (const file of files) {
      if (this.#images.length >= MAX_IMAGES)
        return toast(`A message can have at most ${MAX_IMAGES} files.`, "warning");
      const added = isImage(file) ? picture(file) : documentOf(file).then(chip);
      await added.then((image) => this.#images.push(image), showError);
    }
    this.#showImages();
  }

  #showImages() {
    this.imageList.hidden = this.#images.length === 0;
    this.imageList.replaceChildren(
      ...this.#images.map((image) =>
        el(
          "div",
          { class: "picture-chip" },
          image.url ? el("img", { src: image.url, alt: image.name }) : el("span", { class: "file" }, image.name),
          el(
            "button",
            { type: "button", "aria-label": `Remove ${image.name}`, on: { click: () => this.#remove(image) } },
            "×",
          ),
        ),
      ),
    );
    this.#resize();
  }

  #remove(image) {
    this.#images = this.#images.filter((other) => other !== image);
    this.#showImages();
  }

  async #submit(followUp) {
    const text = this.field.value.trim();
    const [session, images, editing] = [this.#session, this.#images, this.#editing];
    if (!text && images.length === 0) return;
    this.voice?.stop();
    this.#empty();
    const after = this.conversation?.items.findLast(({ entryId }) => entryId)?.entryId ?? null;
    const message = { session, text, images, after };
    const sent = this.send({
      text,
      images: images.filter(({ attachment }) => !attachment),
      attachments: images.flatMap(({ attachment }) => attachment ?? []),
      editing,
      followUp,
    });
    try {
      await this.#unsent.wait(message, sent);
    } catch (error) {
      this.#return(message, images, editing);
      showError(error);
    }
  }

  #hasImages() {
    const kept = [...this.#kept.values()].some(({ images, aside }) => images.length + aside.length > 0);
    return kept || this.#images.length + this.#aside.length > 0 || this.#unsent.hasImages;
  }

  /** The conversation is loaded: messages of the page before a reload that it contains leave the draft. */
  loaded(conversation) {
    for (const text of this.#unsent.take(conversation)) {
      const { value } = this.field;
      const start = `\n\n${value}`.indexOf(`\n\n${text}`);
      if (start < 0) continue;
      const parts = [value.slice(0, start).trimEnd(), value.slice(start + text.length).trimStart()];
      this.field.value = parts.filter(Boolean).join("\n\n");
      this.#save();
      this.#resize();
    }
  }

  /** Empties the field. After an edit the draft returns. */
  #empty() {
    const wasEditing = this.#editing !== null;
    this.#editing = null;
    this.#images = wasEditing ? this.#aside : [];
    this.field.value = wasEditing ? this.#drafts.load(this.#session) : "";
    this.#save();
    this.#changed();
  }

  /** The field has other contents. */
  #changed() {
    this.#returned = "";
    this.suggestions.close();
    this.note.hidden = this.#editing === null;
    if (this.#editing)
      this.note.replaceChildren(
        glyph("edit"),
        "Sending creates a new branch",
        el("button", { type: "button", on: { click: () => this.#empty() } }, "Cancel"),
      );
    this.#showImages();
  }

  /** Shows the draft of a session; `null` for none. Images and an edit stay with the session before. */
  show(session) {
    this.#drafts.flush();
    const [images, editing, aside] = [this.#images, this.#editing, this.#aside];
    if (this.#session) this.#kept.set(this.#session, { images, editing, aside, text: this.field.value });
    const kept = this.#kept.get(session) ?? { images: [], editing: null, aside: [] };
    this.#session = session;
    [this.#images, this.#editing, this.#aside] = [kept.images, kept.editing, kept.aside];
    if (kept.editing) this.field.value = kept.text;
    else this.field.value = session ? this.#drafts.load(session) : "";
    this.#changed();
  }

  /** Accepts a draft before the session is loaded. */
  prepare(session) {
    if (!session) return;
    this.show(session);
    this.field.disabled = false;
    this.field.classList.add("early");
  }

  /** Stores the draft. The text of an edited message is no draft. */
  #save() {
    if (this.#session && !this.#editing) this.#drafts.save(this.#session, this.field.value);
  }

  /** Inserts a text before the current input. */
  insert(text) {
    this.#insert(text, "");
  }

  /** Inserts a text after the texts `before` at the start of the field. */
  #insert(text, before) {
    const rest = this.field.value.slice(before.length).replace(/^\n\n/, "");
    this.field.value = [before, text, rest].filter(Boolean).join("\n\n");
    this.#save();
    this.#resize();
    this.field.focus();
  }

  /** Puts messages back that were not sent: `{text, images, attachments}`. */
  putBack(messages) {
    for (const { text, images = [], attachments = [] } of messages)
      this.#return({ session: this.#session, text }, [...images, ...attachments.map(chip)], null);
  }

  /** Puts a message back into the field, after those that came back before, or into the draft of its session. */
  #return({ session, text }, images, editing) {
    if (session !== this.#session) {
      const kept = this.#kept.get(session) ?? { images: [], editing: null, aside: [] };
      const place = kept.editing ? "aside" : "images";
      this.#kept.set(session, { ...kept, [place]: [...kept[place], ...images] });
      return this.#drafts.prepend(session, text);
    }
    if (editing) {
      this.edit(editing);
      [this.field.value, this.#images] = [text, images];
      return this.#showImages();
    }
    if (this.#editing) {
      this.#aside = [...this.#aside, ...images];
      return this.#drafts.prepend(session, text);
    }
    const before = this.field.value.startsWith(this.#returned) ? this.#returned : "";
    this.#insert(text, before);
    this.#returned = [before, text].filter(Boolean).join("\n\n");
    this.#images = [...this.#images, ...images];
    this.#showImages();
  }

  /** Edits a sent message. The draft waits meanwhile. */
  edit(item) {
    this.#drafts.flush();
    if (this.#editing === null) this.#aside = this.#images;
    this.#editing = item;
    [this.field.value, this.#images] = [item.message.text, (item.message.attachments ?? []).map(chip)];
    this.#changed();
    this.field.focus();
  }

  #resize() {
    const { field } = this;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
    this.sendButton.disabled = !field.value.trim() && this.#images.length === 0;
  }

  /** Shows the state of the conversation. */
  update(conversation) {
    this.conversation = conversation;
    const running = Boolean(conversation?.running);
    this.stopButton.hidden = !running;
    this.sendButton.setAttribute("aria-label", running ? "Send to the running agent" : "Send");
    this.field.placeholder = running ? "Steer the agent" : "Ask osier";
    this.field.disabled = !conversation;
    this.field.classList.remove("early");
    const { model, permissions } = conversation?.facts ?? {};
    this.model.hidden = this.mode.hidden = !model;
    this.model.firstChild.textContent = model ? modelName(model) : "";
    this.mode.firstChild.textContent = model ? modeName(permissions) : "";
    this.#resize();
  }

  /** Shows the queued messages. */
  showQueue({ steering, followUp }) {
    const list = byId("queue");
    const row = (kind) => (message) =>
      el("div", { class: "queued" }, el("small", {}, kind), el("span", {}, line(message.text) || "Image"));
    const rows = [...steering.map(row("Steering")), ...followUp.map(row("Queued"))];
    list.hidden = rows.length === 0;
    if (rows.length)
      rows.at(-1).append(el("button", { type: "button", on: { click: () => this.recall() } }, "Edit queued messages"));
    list.replaceChildren(...rows);
  }
}
