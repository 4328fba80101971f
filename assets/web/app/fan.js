// Several models at one prompt: which ones are asked, how far each is, and which one is gone on with.

import { Board, spent } from "./board.js";
import { announce, byId, el } from "./dom.js";
import { basename, plural, tokens } from "./format.js";
import { complain } from "./toast.js";

/** Models that are asked at once: each works in a copy of the files. */
const MOST = 6;

const STATES = { working: "Working", done: "Done", failed: "Failed", interrupted: "Stopped" };

/** The lanes of the conversation in sight. They go on when the dialog is closed; a button brings it back. */
export class Fan {
  #board = null;

  show(conversation) {
    this.#close();
    this.conversation = conversation;
    this.update();
  }

  /** Something has changed in the lanes. */
  update() {
    const fan = this.conversation?.fan;
    this.#button(fan);
    if (!fan) return this.#close();
    if (fan.wanted && !this.#board) this.#open();
    if (this.#board) this.#draw(fan);
  }

  /** Asks which models, and asks them. */
  async begin(models, parameters = {}) {
    const { conversation } = this;
    const chosen = await chooseModels(models, conversation.facts.model);
    if (!chosen) return;
    conversation.wantsFan = true;
    await conversation.ask("fan_out", { models: chosen, ...parameters });
  }

  #open() {
    const { fan } = this.conversation;
    fan.wanted = false;
    this.#board = new Board("Answers beside one another", () => {
      this.#board = null;
      this.#button(this.conversation?.fan);
    });
    this.#draw(fan);
    this.#board.open();
  }

  #close() {
    this.#board?.close();
  }

  /** Brings the dialog back, above the composer. */
  #button(fan) {
    const place = byId("activity");
    place.querySelector(".waiting-fan")?.remove();
    if (fan && !this.#board) {
      const label = fan.ended ? `Compare ${fan.models.length} answers` : `${fan.models.length} models answer`;
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
    const board = this.#board;
    const ask = (type, parameters) => this.conversation.ask(type, parameters).catch(complain);
    const working = fan.models.filter((_, number) => (fan.lanes[number]?.status ?? "working") === "working").length;
    const note = fan.conflicts
      ? `Changed here meanwhile: ${fan.conflicts.files.map(basename).join(", ")}. Taken all the same, what is here is kept aside.`
      : fan.ended
        ? "Each has worked in a copy of the files. The one that you take becomes the conversation and the files; the others stay as branches."
        : `${plural(working, "model is", "models are")} at work.`;
    if (board.note.textContent !== note) board.note.textContent = note;
    fan.models.forEach((model, number) => {
      const lane = fan.lanes[number] ?? { status: "working", text: "", turns: 0 };
      const live = lane.status === "working";
      const stuck = fan.conflicts?.lane === number;
      const take = {
        label: stuck ? "Take it all the same" : "Take this one",
        name: `${stuck ? "Take it all the same" : "Take this one"}: ${model}`,
        kind: stuck ? "danger" : "primary",
        press: () => ask("take_lane", { lane: number, force: stuck }),
      };
      board.column(number, {
        title: model,
        state: live && lane.tool ? `Running ${lane.tool}` : STATES[lane.status],
        text: lane.text,
        live,
        error: lane.error,
        facts: spent(lane),
        files: lane.files,
        actions: fan.ended && lane.status === "done" ? [take] : [],
      });
    });
    board.actions([
      fan.ended && {
        label: "Take none",
        press: () => ask("end_fan").then(() => (this.conversation.endFan(), this.update())),
      },
      !fan.ended && { label: "Stop", kind: "danger", press: () => ask("abort") },
      { label: "Later", press: () => board.close() },
    ]);
    if (fan.ended && !fan.told) {
      fan.told = true;
      announce("All models have answered.");
    }
  }
}

/** Asks for two or more models; gives their names, or nothing. */
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
    const go = el("button", { class: "primary", type: "submit" }, "Ask them");
    const count = el("p", { class: "hint", role: "status" });
    const note = () => {
      go.disabled = chosen.size < 2 || chosen.size > MOST;
      count.textContent =
        chosen.size < 2
          ? "Choose two or more."
          : chosen.size > MOST
            ? `At most ${MOST} at once.`
            : `${chosen.size} will be asked, each in a copy of the files.`;
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
      { class: "question", "aria-label": "Ask several models" },
      el(
        "form",
        { method: "dialog" },
        el("header", {}, el("h2", {}, "Ask several models")),
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
