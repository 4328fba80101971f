// The start page of an empty session: its directory and example prompts.

import { byId, el } from "./dom.js";
import { basename } from "./format.js";

const IDEAS = [
  "What is this project, and how is it built?",
  "Find a bug that has no test yet",
  "Explain the last change",
];

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
  const { cwd } = conversation.facts;
  return el(
    "div",
    { class: "start" },
    el("img", { src: "/icons/icon.svg", alt: "" }),
    el("h2", {}, cwd ? `What should osier do in ${basename(cwd)}?` : "What should osier do?"),
    cwd && el("code", {}, cwd),
    el("div", { class: "ideas" }, ideas),
  );
}
