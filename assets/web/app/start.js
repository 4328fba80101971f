// What an empty session shows: where it works, and something to begin with.

import { byId, el } from "./dom.js";
import { basename } from "./format.js";

const IDEAS = [
  "What is this project, and how is it built?",
  "Find a bug that has no test yet",
  "Explain what changed last",
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
    el("h2", {}, cwd ? `What shall we do in ${basename(cwd)}?` : "What shall we do?"),
    cwd && el("code", {}, cwd),
    el("div", { class: "ideas" }, ideas),
  );
}
