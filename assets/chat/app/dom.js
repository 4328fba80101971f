// Creates elements. Content is always inserted as text; only `markdown.js` inserts markup of the server.

/** An element. `on`: listeners; `data`: dataset. Attributes with `null`, `undefined` or `false` are skipped. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "class") node.className = value;
    else if (key in PROPERTIES) node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Set as properties, because their attributes are only initial values. */
const PROPERTIES = { value: 1, checked: 1, disabled: 1, hidden: 1, open: 1 };

/**
 * Updates `node` to match `next` in place. Elements of the same kind are reused, which preserves focus, scroll position
 * and open state. Only for elements without listeners.
 */
export function patch(node, next) {
  for (const { name } of [...node.attributes])
    if (name !== "open" && !next.hasAttribute(name)) node.removeAttribute(name);
  for (const { name, value } of next.attributes) {
    // The content security policy forbids `style` attributes.
    if (name === "style") node.style.cssText = next.style.cssText;
    else if (name !== "open" && node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  const wanted = [...next.childNodes];
  wanted.forEach((child, place) => {
    const known = node.childNodes[place];
    if (!known) node.append(child);
    else if (known.nodeName !== child.nodeName) known.replaceWith(child);
    else if (known.nodeType === Node.TEXT_NODE) known.data !== child.data && (known.data = child.data);
    else patch(known, child);
  });
  while (node.childNodes.length > wanted.length) node.lastChild.remove();
}

/** A text with its names in backticks as code. */
export const withCode = (text) => text.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));

export const byId = (id) => document.getElementById(id);

/** The icons: SVG paths on a 24 by 24 grid. */
const GLYPHS = {
  blank: "",
  folder: "M3.5 6h6l2 2.5h9V19h-17z",
  pin: "M9 4h6l-1 6 3 3.5H7L10 10zM12 13.5V20",
  archive: "M4 5h16v4H4zM5.5 9v10h13V9M10 13h4",
  hand: "M12 7.5v5M12 16v.01M4 4.5h16v13H9l-5 3.5z",
  barred: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17M6 6l12 12",
  add: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h10",
  tune: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5",
  close: "M6 6l12 12M18 6L6 18",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  picture: "M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15.5 9.5h.01",
  camera: "M4 8h4l1.5-2.5h5L16 8h4v11H4zM12 16.5a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4",
  voice:
    "M12 4a2.5 2.5 0 0 0-2.5 2.5v5a2.5 2.5 0 0 0 5 0v-5A2.5 2.5 0 0 0 12 4M6.5 11.5a5.5 5.5 0 0 0 11 0M12 17v3",
  copy: "M9 9h10v11H9zM5 15V4h10",
  edit: "M5 19l1-4L16.5 4.5l3 3L9 18zM14 7l3 3",
  retry: "M19 12a7 7 0 1 1-2-4.9M19 4v4h-4",
  branch: "M7 5v14M7 14c6 0 10-1 10-6M14.5 10L17 7.5l2.5 2.5",
  fork: "M12 20v-7M12 13c0-4-5-3-5-8M12 13c0-4 5-3 5-8",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  back: "M14 6l-6 6 6 6",
  next: "M10 6l6 6-6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  check: "M5 12.5l4.5 4.5L19 7.5",
  fault: "M12 7v6M12 16.5v.01M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17",
  clock: "M12 8v4.5l3 2M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1 1M17.4 17.4l1 1M5.6 18.4l1-1M17.4 6.6l1-1",
  moon: "M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  install: "M12 4v10M8 10.5l4 4 4-4M5 19h14",
  leave: "M14 5H5v14h9M10 12h10M17 9l3 3-3 3",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l1 12.5h8L17 7",
  name: "M4 18h16M6 14l6-9 6 9M8 11h8",
  columns: "M4 5h7v14H4zM13 5h7v14h-7z",
  files: "M6 3.5h8l4 4v13H6zM14 3.5V8h4M9 14.5h4a2 2 0 0 0 0-4h-3M11 8.5l-2 2 2 2",
  several: "M5 6h14M5 12h14M5 18h14M9 4l2 2-2 2M9 10l2 2-2 2M9 16l2 2-2 2",
};

const WEIGHTS = { more: "bold", stop: "full" };

/** An icon. Screen readers ignore it; its button has the label. */
export function glyph(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `glyph ${WEIGHTS[name] ?? ""}`.trim());
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", GLYPHS[name]);
  svg.append(path);
  return svg;
}

/** A button with an icon. */
export function iconButton(name, label, press, attributes = {}) {
  const button = el(
    "button",
    { class: "icon", type: "button", "aria-label": label, title: label, ...attributes },
    glyph(name),
  );
  button.addEventListener("click", press);
  return button;
}

/** Announces a text to screen readers. */
export function announce(text) {
  const announcer = byId("announcer");
  announcer.textContent = "";
  requestAnimationFrame(() => (announcer.textContent = text));
}
