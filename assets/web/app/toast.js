// Short words at the edge that go away by themselves.

import { byId, el } from "./dom.js";

const LASTING = { info: 4000, warning: 7000, error: 9000 };

/** Says `text`; `action` is `{label, press}`. */
export function toast(text, severity = "info", action) {
  const node = el(
    "div",
    { class: `toast ${severity}`, role: severity === "error" ? "alert" : null },
    el("span", {}, text),
  );
  if (action) {
    const press = () => (node.remove(), action.press());
    node.append(el("button", { type: "button", on: { click: press } }, action.label));
  }
  byId("toasts").append(node);
  setTimeout(() => node.remove(), LASTING[severity] ?? LASTING.info);
  while (byId("toasts").children.length > 3) byId("toasts").firstChild.remove();
}

/** For the end of a promise chain: says what failed, and what can be done where the error knows it. */
export const complain = (error) => toast(error?.message ?? String(error), error?.severity ?? "error", error?.action);
