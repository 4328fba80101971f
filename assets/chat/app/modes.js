// The permission modes: one name for each, everywhere in the page.

/** `[value, name, description]`. */
export const MODES = [
  ["ask", "Ask", "Ask before changes."],
  ["auto", "Auto review", "A model allows, asks or denies."],
  ["plan", "Plan", "Read-only."],
  ["yolo", "Yolo", "Run everything unless denied."],
];

/** The name of a mode. */
export const modeName = (mode) => MODES.find(([value]) => value === mode)?.[1] ?? mode;
