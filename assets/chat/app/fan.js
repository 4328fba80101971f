// Runs several models side by side: choose models, show their progress, accept one answer.

import { ColumnDialog, columnFacts } from "./column_dialog.js";
import { announce, byId, el } from "./dom.js";
import { basename, plural, tokens } from "./format.js";
import { showError } from "./toast.js";

/** Most models of a fan; each works in a copy of the files. */
const MAX_MODELS = 6;

const STATES = { working: "Working", done: "Done", failed: "Failed", interrupted: "Interrupted" };

/** The lanes of the current conversation. They continue when the dialog is closed; a button opens it again. */
export class Fan {
  #dialog = null;

  show(conversation) {
    this.#close();
    this.conversation = conversation;
    this.update();
  }

  /** The lanes have changed. */
  update() {
    const fan = this.conversation?.fan;
    this.#button(fan);
    if (!fan) return this.#close();
    if (fan.wanted && !this.#dialog) this.#open();
    if (this.#dialog) this.#draw(fan);
  }

  /** Asks for the models and runs them. */
  async start(models, parameters = {}) {
    const { conversation } = this;
    const chosen = await chooseModels(models, conversation.facts.model);
    if (!chosen) return;
    conversation.showFan = true;
    await conversation.ask("fan_out", { models: chosen, ...parameters });
  }

  #open() {
    const { fan } = this.conversation;
    fan.wanted = false;
    this.#dialog = new ColumnDialog("Answers side by side", () => {
      this.#dialog = null;
      this.#button(this.conversation?.fan);
    });
    this.#draw(fan);
    this.#dialog.open();
  }

  #close() {
    this.#dialog?.close();
  }

  /** The button above the input field that opens the dialog again. */
  #button(fan) {
    const place = byId("activity");
    place.querySelector(".waiting-fan")?.remove();
    if (fan && !this.#dialog) {
      const label = fan.ended ? `Compare ${fan.models.length} answers` : `${fan.models.length} models are running`;
      place.append(
        el(
          "button",
          { class: "plain waiting-fan", type: "button", on: { click: () => (this.#open(), this.update()) } },
          label,
        ),
      );
      place.hidden = false;
    } else {
      place.hidden = !place.hasChildNodes();
    }
  }

  #draw(fan) {
    const dialog = this.#dialog;
    const ask = (type, parameters) => this.conversation.ask(type, parameters).catch(showError);
    const working = fan.models.filter((_, number) => (fan.lanes[number]?.status ?? "working") === "working").length;
    const note = fan.conflicts
      ? `Changed by hand since: ${fan.conflicts.files.map(basename).join(", ")}. Overwriting saves a copy.`
      : fan.ended
        ? "Each model worked in its own copy of the files. The answer you accept becomes the conversation and the files; the others remain as branches."
        : `${plural(working, "model is", "models are")} running.`;
    if (dialog.note.textContent !== note) dialog.note.textContent = note;
    fan.models.forEach((model, number) => {
      const lane = fan.lanes[number] ?? { status: "working", text: "", turns: 0 };
      const live = lane.status === "working";
      const hasConflict = fan.conflicts?.lane === number;
      const accept = {
        label: hasConflict ? "Overwrite and accept" : "Accept",
        name: `${hasConflict ? "Overwrite and accept" : "Accept"}: ${model}`,
        kind: hasConflict ? "danger" : "primary",
        press: () => ask("take_lane", { lane: number, force: hasConflict }),
      };
      dialog.column(number, {
        title: model,
        state: live && lane.tool ? `Running ${lane.tool}` : STATES[lane.status],
        text: lane.text,
        live,
        error: lane.error,
        facts: columnFacts(lane),
        files: lane.files,
        actions: fan.ended && lane.status === "done" ? [accept] : [],
      });
    });
    dialog.actions([
      fan.ended && {
        label: "Leave as branches",
        press: () => ask("end_fan").then(() => (this.conversation.endFan(), this.update())),
      },
      !fan.ended && { label: "Stop", kind: "danger", press: () => ask("abort") },
      { label: "Close", press: () => dialog.close() },
    ]);
    if (fan.ended && !fan.announced) {
      fan.announced = true;
      announce("All models have answered.");
    }
  }
}

/** Asks for two or more models; returns their names, or null. */
function chooseModels(models, current) {
  return new Promise((resolve) => {
    const here = current && `${current.provider}/${current.id}`;
    const chosen = new Set(here ? [here] : []);
    const named = models.map((model) => ({ ...model, reference: `${model.provider}/${model.id}` }));
    const usable = named.filter(({ key, reference }) => key !== "absent" || reference === here);
    if (here && !usable.some(({ reference }) => reference === here))
      usable.unshift({ ...current, reference: here });
    const search = el("input", { type: "search", placeholder: "Search models", "aria-label": "Search models" });
    const list = el("div", { class: "model-list checks", role: "group", "aria-label": "Models" });
    const go = el("button", { class: "primary", type: "submit" }, "Run");
    const count = el("p", { class: "hint", role: "status" });
    const note = () => {
      go.disabled = chosen.size < 2 || chosen.size > MAX_MODELS;
      count.textContent =
        chosen.size < 2
          ? "Select at least two models."
          : chosen.size > MAX_MODELS
            ? `Select at most ${MAX_MODELS} models.`
            : `${chosen.size} models will run, each in its own copy of the files.`;
    };
    const row = ({ reference, provider, id, name, contextWindow }) => {
      const box = el("input", { type: "checkbox", checked: chosen.has(reference) });
      box.addEventListener("change", () => {
        if (box.checked) chosen.add(reference);
        else chosen.delete(reference);
        note();
      });
      const size = contextWindow ? ` · ${tokens(contextWindow)}` : "";
      return el("label", {}, box, el("span", {}, name || id), el("small", {}, `${provider}${size}`));
    };
    const fill = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = ({ reference, name }) => words.every((word) => `${reference} ${name}`.toLowerCase().includes(word));
      const rank = ({ reference, inCycle }) => (chosen.has(reference) ? 0 : inCycle ? 1 : 2);
      const shown = usable.filter(fits).sort((a, b) => rank(a) - rank(b));
      list.replaceChildren(...shown.slice(0, 60).map(row));
    };
    const dialog = el(
      "dialog",
      { class: "question", "aria-label": "Run several models" },
      el(
        "form",
        { method: "dialog" },
        el("header", {}, el("h2", {}, "Run several models")),
        el("div", { class: "content" }, el("div", { class: "field" }, search), list, count),
        el("footer", {}, el("button", { class: "plain", type: "button", on: { click: () => dialog.close() } }, "Cancel"), go),
      ),
    );
    search.addEventListener("input", fill);
    search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      dialog.close("go");
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "go" ? [...chosen] : null);
    });
    fill();
    note();
    document.body.append(dialog);
    dialog.showModal();
  });
}
