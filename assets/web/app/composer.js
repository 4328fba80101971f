// Where the person writes: text, pictures and voice; sends, waits in line while the agent works, stops it.

import { hasCamera, takePicture } from "./camera.js";
import { byId, el, glyph, iconButton } from "./dom.js";
import { line, modelName } from "./format.js";
import { filesOf, picture } from "./pictures.js";
import { Suggestions } from "./suggest.js";
import { complain, toast } from "./toast.js";
import { Voice, canListen } from "./voice.js";

/** Pictures of one message. */
const MOST_PICTURES = 8;

export class Composer {
  #pictures = [];
  #editing = null;

  /** `send({text, images, editing, followUp})` gives a promise; `stop()`, `recall()` and `settings()` as they are named. */
  constructor({ send, stop, recall, settings }) {
    Object.assign(this, { send, stop, recall });
    this.form = byId("composer");
    this.#build(settings);
    this.#listen();
    this.update(null);
  }

  #build(settings) {
    this.field = el("textarea", {
      id: "prompt",
      rows: "1",
      "aria-label": "Message",
      enterkeyhint: "enter",
      autocapitalize: "sentences",
    });
    this.note = el("div", { class: "editing", hidden: true });
    this.shelf = el("div", { class: "pictures", hidden: true });
    this.files = el("input", {
      type: "file",
      accept: "image/*",
      multiple: true,
      hidden: true,
      "aria-label": "Pictures",
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
      { class: "chip-button", type: "button", title: "Model and permissions", on: { click: settings } },
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
      iconButton("picture", "Add pictures", () => this.files.click()),
      (touch || hasCamera) && iconButton("camera", "Take a picture", () => this.#photograph(touch)),
      canListen && this.#microphone(),
      el("span", { class: "gap" }),
      this.model,
      this.stopButton,
      this.sendButton,
    );
    this.suggestions = new Suggestions(this.field);
    this.form.append(this.note, this.shelf, this.suggestions.list, this.field, row, this.files, this.camera);
  }

  /** A phone's own camera is better than a page's. */
  #photograph(touch) {
    if (touch) return this.camera.click();
    takePicture().then((taken) => taken && this.#add([taken]), complain);
  }

  #microphone() {
    const button = iconButton("voice", "Speak", () => this.voice.toggle(), { "aria-pressed": "false" });
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
    this.field.addEventListener("input", () => (this.#fit(), this.suggestions.update(this.conversation)));
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
    const finger = matchMedia("(pointer: coarse)").matches;
    if (event.key === "Enter" && !event.shiftKey && (!finger || event.ctrlKey || event.metaKey)) {
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
      if (this.#pictures.length >= MOST_PICTURES)
        return toast(`At most ${MOST_PICTURES} pictures go with a message.`, "warning");
      await picture(file).then((made) => this.#pictures.push(made), complain);
    }
    this.#shelve();
  }

  #shelve() {
    this.shelf.hidden = this.#pictures.length === 0;
    this.shelf.replaceChildren(
      ...this.#pictures.map((made) =>
        el(
          "div",
          { class: "picture-chip" },
          el("img", { src: made.url, alt: made.name }),
          el(
            "button",
            { type: "button", "aria-label": `Remove ${made.name}`, on: { click: () => this.#remove(made) } },
            "×",
          ),
        ),
      ),
    );
    this.#fit();
  }

  #remove(made) {
    URL.revokeObjectURL(made.url);
    this.#pictures = this.#pictures.filter((other) => other !== made);
    this.#shelve();
  }

  async #submit(followUp) {
    const text = this.field.value.trim();
    const images = this.#pictures.map(({ data }) => ({ data }));
    if ((!text && images.length === 0) || this.form.ariaBusy === "true") return;
    this.voice?.stop();
    const [pictures, editing] = [this.#pictures, this.#editing];
    this.form.ariaBusy = "true";
    this.clear();
    try {
      await this.send({ text, images, editing, followUp });
      pictures.forEach(({ url }) => URL.revokeObjectURL(url));
    } catch (error) {
      // Nothing that was typed is lost.
      this.#pictures = pictures;
      this.#shelve();
      this.put(text);
      if (editing) this.edit(editing);
      complain(error);
    } finally {
      this.form.ariaBusy = "false";
    }
  }

  clear() {
    this.#pictures = [];
    this.#editing = null;
    this.note.hidden = true;
    this.field.value = "";
    this.#shelve();
  }

  /** Puts a text in front of what is there. */
  put(text) {
    this.field.value = [text, this.field.value].filter(Boolean).join("\n\n");
    this.#fit();
    this.field.focus();
  }

  /** The message that will be sent again, changed; `null` gives it up. */
  edit(item) {
    this.#editing = item;
    this.note.hidden = !item;
    if (!item) return this.clear();
    this.note.replaceChildren(
      glyph("edit"),
      "Sending starts another branch",
      el("button", { type: "button", on: { click: () => this.edit(null) } }, "Cancel"),
    );
    this.field.value = item.message.text;
    this.#fit();
    this.field.focus();
  }

  #fit() {
    const { field } = this;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
    this.sendButton.disabled = !field.value.trim() && this.#pictures.length === 0;
  }

  /** Shows how the conversation stands. */
  update(conversation) {
    this.conversation = conversation;
    const running = Boolean(conversation?.running);
    this.stopButton.hidden = !running;
    this.sendButton.setAttribute("aria-label", running ? "Send to the running agent" : "Send");
    this.field.placeholder = running ? "Tell it more while it works" : "Ask osier";
    this.field.disabled = !conversation;
    const { model, permissions } = conversation?.facts ?? {};
    this.model.hidden = !model;
    this.model.firstChild.textContent = model ? `${modelName(model)} · ${permissions}` : "";
    this.#fit();
  }

  /** The messages that wait. */
  showQueue({ steering, followUp }) {
    const shelf = byId("queue");
    const row = (kind) => (message) =>
      el("div", { class: "queued" }, el("small", {}, kind), el("span", {}, line(message.text) || "A picture"));
    const rows = [...steering.map(row("Next")), ...followUp.map(row("Then"))];
    shelf.hidden = rows.length === 0;
    if (rows.length)
      rows.at(-1).append(el("button", { type: "button", on: { click: () => this.recall() } }, "Take back"));
    shelf.replaceChildren(...rows);
  }
}
