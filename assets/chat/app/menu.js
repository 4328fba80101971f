// Context menus: next to their element, or at the bottom of the screen on a phone.

import { el, glyph, iconButton } from "./dom.js";

/** `items` are `{icon, label, note, press, danger}`; falsy ones are skipped. `anchor` is an element or null. */
export function openMenu(label, items, anchor) {
  const menu = el("dialog", { class: "menu", "aria-label": label });
  const close = () => menu.close();
  const buttons = items.filter(Boolean).map(({ icon, label, note, press, danger }) =>
    el(
      "button",
      {
        type: "button",
        role: "menuitem",
        class: danger ? "danger-item" : null,
        on: { click: () => (close(), press()) },
      },
      glyph(icon),
      el("span", {}, label, note && el("small", {}, note)),
    ),
  );
  menu.append(el("div", { role: "menu" }, buttons));
  menu.addEventListener("close", () => menu.remove());
  // Not on click: the finger that opened the menu is still down.
  menu.addEventListener("pointerdown", (event) => event.target === menu && close());
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    buttons.at((at + step) % buttons.length).focus();
  });
  document.body.append(menu);
  menu.showModal();
  place(menu, anchor);
}

/** Positions the menu next to its anchor, inside the window. On a phone, the style sheet positions it. */
function place(menu, anchor) {
  const box = anchor?.getBoundingClientRect() ?? {
    left: innerWidth / 2 - menu.offsetWidth / 2,
    bottom: innerHeight / 3,
    top: innerHeight / 3,
  };
  const left = Math.max(8, Math.min(box.left, innerWidth - menu.offsetWidth - 8));
  const below = box.bottom + 4 + menu.offsetHeight < innerHeight;
  menu.style.left = `${left}px`;
  menu.style.top = `${below ? box.bottom + 4 : Math.max(8, box.top - menu.offsetHeight - 4)}px`;
}

/** Asks for one line; returns the text, or `null`. */
export function askLine(title, value = "", confirm = "Save") {
  const field = el("input", { type: "text", value, "aria-label": title });
  return askForm(title, [field], confirm).then((done) => (done ? field.value.trim() : null));
}

/** Asks for confirmation. */
export const askYes = (title, text, confirm) => askForm(title, [el("p", {}, text)], confirm);

function askForm(title, content, confirm) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { class: "question", "aria-label": title });
    const form = el(
      "form",
      { method: "dialog" },
      el("header", {}, el("h2", {}, title)),
      el("div", { class: "content" }, content),
      el(
        "footer",
        {},
        el("button", { class: "plain", value: "no", formnovalidate: true }, "Cancel"),
        el("button", { class: "primary", value: "yes" }, confirm),
      ),
    );
    // Enter in an input confirms instead of pressing the first button.
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
      event.preventDefault();
      dialog.close("yes");
    });
    dialog.append(form);
    dialog.addEventListener("close", () => (dialog.remove(), resolve(dialog.returnValue === "yes")));
    document.body.append(dialog);
    dialog.showModal();
    content.find((node) => node.select)?.select();
  });
}

/**
 * A dialog with content of its own. `fill(close)` returns its nodes, or `{nodes, closed}`; `close(value)` closes it.
 * Resolves to that value, or to `null`.
 */
export function openPanel(title, fill) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { class: "question panel", "aria-label": title });
    let result = null;
    const close = (value = null) => ((result = value), dialog.close());
    const filled = fill(close);
    const { nodes, closed } = Array.isArray(filled) ? { nodes: filled } : filled;
    dialog.append(
      el("header", {}, el("h2", {}, title), iconButton("close", "Close", () => close())),
      el("div", { class: "content" }, nodes),
    );
    dialog.addEventListener("pointerdown", (event) => event.target === dialog && close());
    dialog.addEventListener("close", () => (dialog.remove(), closed?.(), resolve(result)));
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("input, .content button")?.focus();
  });
}
