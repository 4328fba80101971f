// Toasts: short messages that disappear automatically.

import { byId, el, withCode } from "./dom.js";

const DURATIONS = { info: 4000, warning: 7000, error: 9000 };

/** Shows `text`; `action` is `{label, press}`. */
export function toast(text, severity = "info", action) {
  const node = el(
    "div",
    { class: `toast ${severity}`, role: severity === "error" ? "alert" : null },
    el("span", {}, withCode(text)),
  );
  if (action) {
    const press = () => (node.remove(), action.press());
    node.append(el("button", { type: "button", on: { click: press } }, action.label));
  }
  // The same text again replaces the earlier toast.
  for (const other of [...byId("toasts").children]) if (other.firstChild.textContent === node.firstChild.textContent) other.remove();
  byId("toasts").append(node);
  setTimeout(() => node.remove(), DURATIONS[severity] ?? DURATIONS.info);
  while (byId("toasts").children.length > 3) byId("toasts").firstChild.remove();
}

/** Shows an error, with its action if it has one. */
export const showError = (error) => toast(error?.message ?? String(error), error?.severity ?? "error", error?.action);
