// The input field: text, images and voice. Sends or queues messages, and stops the run.

import { hasCamera, takePicture } from "./camera.js";
import { Drafts } from "./drafts.js";
import { byId, el, glyph, iconButton } from "./dom.js";
import { line, modelName } from "./format.js";
import { filesOf, picture } from "./images.js";
import { modeName } from "./modes.js";
import { Suggestions } from "./suggest.js";
import { showError, toast } from "./toast.js";
import { Voice, canListen } from "./voice.js";

/** Most images of one message. */
const MAX_IMAGES = 8;

export class Composer {
  #images = [];
  #editing = null;
  #drafts = new Drafts();

  /** `send({text, images, editing, followUp})` returns a promise. */
  constructor({ send, stop, recall, model, mode }) {
    Object.assign(this, { send, stop, recall });
    this.form = byId("composer");
    this.#build(model, mode);
    this.#listen();
    this.update(null);
  }

  #build(model, mode) {
    this.field = el("textarea", {
      id: "prompt",
      rows: "1",
      "aria-label": "Message",
      enterkeyhint: "enter",
      autocapitalize: "sentences",
    });
    this.note = el("div", { class: "editing", hidden: true });
    this.imageList = el("div", { class: "pictures", hidden: true });
    this.files = el("input", {
      type: "file",
      accept: "image/*",
      multiple: true,
      hidden: true,
      "aria-label": "Images",
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
      iconButton("picture", "Add images", () => this.files.click()),
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
      const files = filesOf(event.clipboardData);
      if (files.length) event.preventDefault();
      this.#add(files);
    });
    for (const input of [this.files, this.camera]) {
      input.addEventListener("change", () => {
        this.#add([...input.files]);
        input.value = "";
      });
    }
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
      if (this.#editing) this.edit(null);
      else if (this.conversation?.running) this.stop();
    } else if (event.key === "ArrowUp" && !this.field.value && this.conversation?.running) {
      this.recall();
    }
  }

  async #add(files) {
    for (const file of files) {
      if (this.#images.length >= MAX_IMAGES)
        return toast(`A message can have at most ${MAX_IMAGES} images.`, "warning");
      await picture(file).then((image) => this.#images.push(image), showError);
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
          el("img", { src: image.url, alt: image.name }),
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
    URL.revokeObjectURL(image.url);
    this.#images = this.#images.filter((other) => other !== image);
    this.#showImages();
  }

  async #submit(followUp) {
    const text = this.field.value.trim();
    const images = this.#images.map(({ data }) => ({ data }));
    if (!text && images.length === 0) return;
    this.voice?.stop();
    const [pictures, editing] = [this.#images, this.#editing];
    this.clear();
    try {
      await this.send({ text, images, editing, followUp });
      pictures.forEach(({ url }) => URL.revokeObjectURL(url));
    } catch (error) {
      // Restore the input.
      this.#images = pictures;
      this.#showImages();
      this.insert(text);
      if (editing) this.edit(editing);
      showError(error);
    }
  }

  clear() {
    this.#images = [];
    this.#editing = null;
    this.note.hidden = true;
    this.field.value = "";
    this.#save();
    this.#showImages();
  }

  /** Shows the draft of a session; `null` for none. Images and an edit belong to the session before. */
  show(session) {
    this.#drafts.flush();
    this.#session = null;
    this.clear();
    this.#session = session;
    if (session) this.field.value = this.#drafts.load(session);
    this.#resize();
  }
  #session = null;

  /** Stores the draft. The text of an edited message is none. */
  #save() {
    if (this.#session && !this.#editing) this.#drafts.save(this.#session, this.field.value);
  }

  /** Inserts a text before the current input. */
  insert(text) {
    this.field.value = [text, this.field.value].filter(Boolean).join("\n\n");
    this.#save();
    this.#resize();
    this.field.focus();
  }

  /** Edits a sent message; `null` cancels. */
  edit(item) {
    this.#editing = item;
    this.note.hidden = !item;
    if (!item) return this.clear();
    this.note.replaceChildren(
      glyph("edit"),
      "Sending creates a new branch",
      el("button", { type: "button", on: { click: () => this.edit(null) } }, "Cancel"),
    );
    this.field.value = item.message.text;
    this.#resize();
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
