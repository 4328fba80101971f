// The app shell: side panels, the connection banner, installation and the service worker.

import { byId, glyph, iconButton } from "./dom.js";
import { scriptUrl } from "./markdown.js";
import { setTheme } from "./theme.js";

const app = byId("app");
const wide = matchMedia("(min-width: 60rem)");
const widest = matchMedia("(min-width: 75rem)");

export function toggleSide(open) {
  app.classList.toggle("side-open", open);
  if (open) byId("side").querySelector("button")?.focus();
  panels();
}

/** Makes covered and closed panels inert. */
function panels() {
  const side = app.classList.contains("side-open") && !wide.matches;
  const drawer = app.classList.contains("drawer-open") && !widest.matches;
  byId("scrim").hidden = !side && !drawer;
  byId("main").inert = side || drawer;
  byId("side").inert = (!wide.matches && !side) || drawer;
}

/** `closeDrawer()` closes the advanced panel. */
export function watchPanels(closeDrawer) {
  const shut = () => {
    toggleSide(false);
    closeDrawer();
  };
  byId("open-side").append(glyph("menu"));
  byId("open-side").addEventListener("click", () => toggleSide(true));
  byId("open-drawer").append(glyph("tune"));
  byId("to-end").prepend(glyph("down"));
  byId("new-session").prepend(glyph("add"));
  byId("side-foot").append(iconButton("moon", "Switch between light and dark", () => setTheme(isDark() ? "light" : "dark")));
  byId("scrim").addEventListener("click", shut);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !byId("scrim").hidden && !document.querySelector("dialog[open]")) shut();
  });
  for (const query of [wide, widest]) query.addEventListener("change", panels);
  addEventListener("panels", panels);
  panels();
}

const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";

/** Shows a banner; an empty text hides it. */
export function banner(text) {
  const node = byId("banner");
  if (node.textContent !== text) node.textContent = text;
  node.hidden = !text;
}

/** Registers the service worker, so that the page opens without the server, and offers to install the app. */
export function install() {
  if ("serviceWorker" in navigator && isSecureContext)
    navigator.serviceWorker.register(scriptUrl("/worker.js")).catch(() => {});
  addEventListener("beforeinstallprompt", (event) => {
    event.preventDefault();
    const button = iconButton("install", "Install as an app", async () => {
      await event.prompt();
      button.remove();
    });
    byId("side-foot").append(button);
  });
}
