// Chooses the folder of a new session: a recent one, or another path of the server.

import { el } from "./dom.js";
import { basename } from "./format.js";
import { openPanel } from "./menu.js";

/** Resolves to an absolute path, or to `null`. */
export function chooseFolder(recent, current) {
  return openPanel("New session in", (close) => {
    const field = el("input", {
      type: "text",
      value: current ?? "",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": "Folder",
      placeholder: "/home/me/project",
    });
    const fault = el("p", { class: "wrong", role: "alert" });
    const submit = (event) => {
      event.preventDefault();
      const path = field.value.trim();
      if (path.startsWith("/")) return close(path);
      fault.textContent = "Enter an absolute path.";
    };
    const form = el(
      "form",
      { class: "folder-form", on: { submit } },
      el("label", { class: "field" }, el("span", {}, "Folder on the server"), field),
      fault,
      el("button", { class: "primary", type: "submit" }, "Start session"),
    );
    const rows = recent.map((path) =>
      el(
        "button",
        { class: "choice", type: "button", on: { click: () => close(path) } },
        basename(path),
        el("small", {}, path),
      ),
    );
    return [...rows, form];
  });
}
