// The start page of an empty session: its directory and example prompts.

import { signIn } from "./accounts.js";
import { byId, el } from "./dom.js";
import { basename } from "./format.js";
import { chooseModel } from "./models.js";
import { showError } from "./toast.js";

const IDEAS = [
  "What is this project, and how is it built?",
  "Find a bug that has no test yet",
  "Explain the last change",
];

/** The text of the start page while no model answers, by provider. */
const WITHOUT_MODEL = {
  demo: "This is a scripted demo: no model answers. Sign in to a provider to use osier.",
  none: "No model is set up yet. Sign in to a provider, or start a local model, to use osier.",
};

function offer(text, conversation) {
  const press = () => signIn(conversation).then((done) => done && chooseModel(conversation), showError);
  return el(
    "div",
    { class: "demo" },
    el("p", {}, text),
    el("button", { class: "primary", type: "button", on: { click: press } }, "Sign in"),
  );
}

export function start(conversation) {
  const ideas = IDEAS.map((idea) =>
    el(
      "button",
      {
        type: "button",
        on: {
          click: () => {
            const prompt = byId("prompt");
            prompt.value = idea;
            prompt.dispatchEvent(new Event("input"));
            prompt.focus();
          },
        },
      },
      idea,
    ),
  );
  const { cwd, model } = conversation.facts;
  const text = WITHOUT_MODEL[model?.provider];
  return el(
    "div",
    { class: "start" },
    el("img", { src: "/icons/icon.svg", alt: "" }),
    el("h2", {}, cwd ? `What should osier do in ${basename(cwd)}?` : "What should osier do?"),
    cwd && el("code", {}, cwd),
    text && offer(text, conversation),
    el("div", { class: "ideas" }, ideas),
  );
}
