// Groups finished tool calls in a row, as "Ran 12 commands, read 3 files". File changes stay visible.

import { el } from "./dom.js";
import { plural } from "./format.js";
import { toolRow } from "./tool_rows.js";

/** Fewest calls of a group. */
const FEWEST = 4;

/** The words for several calls of a tool that changes nothing or runs a command, as in `read 3 files`. */
const several = (name) => toolRow(name)?.verbs.several;

/** The calls of the groups that the user opened. Earlier calls can join a group. */
const opened = new Set();

/** Groups the calls of messages. Nodes of a group stay where they are, so that nothing is rendered again. */
export function groupTools(messages, conversation) {
  let row = [];
  const end = () => {
    const tools = row.filter((node) => node.classList.contains("tool"));
    if (tools.length >= FEWEST) addGroup(row, tools, conversation);
    row = [];
  };
  for (const message of messages) {
    for (const node of partsOf(message)) {
      node.classList.remove("grouped");
      const call = node.dataset.call && conversation.calls.get(node.dataset.call);
      const fits = call ? several(call.name) && call.result : node.classList.contains("thinking");
      if (fits) row.push(node);
      else end();
    }
  }
  end();
}

/** The elements that continue or end a row of calls, without earlier groups. */
function partsOf(message) {
  message.querySelectorAll(".tool-group").forEach((node) => node.remove());
  const blocks = message.querySelectorAll(".blocks > *");
  return message.matches(".message.user, .message.aside") ? [message, ...blocks] : blocks;
}

function addGroup(row, tools, conversation) {
  const calls = tools.map((node) => conversation.calls.get(node.dataset.call));
  const ids = tools.map((node) => node.dataset.call);
  const isOpen = () => ids.some((id) => opened.has(id));
  const nodes = row.slice(row.indexOf(tools[0]));
  const toggle = () => {
    const change = isOpen() ? "delete" : "add";
    for (const id of ids) opened[change](id);
    paint();
  };
  const failed = calls.filter(({ state }) => state === "bad").length;
  const button = el(
    "button",
    { class: "tool-group", type: "button", on: { click: toggle } },
    el("span", { class: "turn", "aria-hidden": "true" }, "▸"),
    el("span", {}, summary(calls)),
    failed > 0 && el("span", { class: "minus" }, `${failed} failed`),
  );
  const paint = () => {
    button.setAttribute("aria-expanded", String(isOpen()));
    for (const node of nodes) node.classList.toggle("grouped", !isOpen());
  };
  paint();
  tools[0].before(button);
}

function summary(calls) {
  const counts = new Map();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  const text = [...counts].map(([name, count]) => `${several(name)[0]} ${plural(count, several(name)[1])}`).join(", ");
  return text[0].toUpperCase() + text.slice(1);
}
