// The list of models with a search field: in the advanced panel and in the dialog at the input field.

import { el } from "./dom.js";
import { modelName, tokens } from "./format.js";
import { openPanel } from "./menu.js";
import { showError } from "./toast.js";

/** Most models that are listed at once. */
const MAX_ROWS = 60;

const load = (conversation) => conversation.ask("get_available_models").then(({ models }) => models);

/** Sorts usable models first. */
const rank = (model) => (model.inCycle ? 0 : model.key === "absent" ? 2 : 1);

/** A search field and the models that match; `pick(reference)` is called with the chosen one. */
export function modelList(conversation, pick) {
  const search = el("input", { type: "search", placeholder: "Search models", "aria-label": "Search models" });
  const list = el("div", { class: "model-list", role: "listbox", "aria-label": "Models", hidden: true });
  let models = null;
  const mark = () => {
    const { model } = conversation.facts;
    const current = model ? `${model.provider}/${model.id}` : "";
    for (const node of list.children) node.setAttribute("aria-selected", String(node.dataset.model === current));
  };
  const fill = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ provider, id, name }) =>
      words.every((word) => `${provider}/${id} ${name}`.toLowerCase().includes(word));
    const shown = (models ?? []).filter(fits).sort((a, b) => rank(a) - rank(b));
    list.replaceChildren(...shown.slice(0, MAX_ROWS).map((model) => row(model, pick)));
    list.hidden = shown.length === 0;
    mark();
  };
  const open = async () => {
    models ??= await load(conversation).catch((error) => (showError(error), null));
    fill();
  };
  search.addEventListener("input", fill);
  search.addEventListener("focus", open);
  return { nodes: [el("div", { class: "field" }, search), list], mark };
}

function row(model, pick) {
  const reference = `${model.provider}/${model.id}`;
  const price = model.price?.input ? `$${model.price.input} / $${model.price.output}` : "";
  const note = model.key === "absent" ? "no API key" : tokens(model.contextWindow);
  return el(
    "button",
    { type: "button", role: "option", data: { model: reference }, on: { click: () => pick(reference) } },
    el("span", {}, model.name || model.id),
    el("small", { class: "price", title: "US dollars per million tokens: input / output" }, price),
    el("small", {}, `${model.provider} · ${note}`),
  );
}

/** A dialog to choose the model; resolves to whether one was chosen. */
export function chooseModel(conversation) {
  const { model } = conversation.facts;
  return openPanel("Model", (close) => {
    const pick = (reference) =>
      conversation.ask("set_model", { reference }).then(() => close(true), showError);
    return [el("p", { class: "hint" }, model ? `Now: ${modelName(model)}` : "No model yet"), ...modelList(conversation, pick).nodes];
  });
}
