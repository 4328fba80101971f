// Signs in with the token of the URL that `osier serve` prints.

import { api } from "./api.js";
import { byId, el } from "./dom.js";

/** Returns the token of the URL and removes it from the URL and the history. */
export function takeTokenFromUrl() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) history.replaceState(history.state, "", location.pathname + location.search);
  return token;
}

/** Asks for the token until it is correct. */
export function askToken(message = "") {
  const root = byId("login");
  const field = el("input", { type: "password", autocomplete: "current-password", required: true, id: "token" });
  const fault = el("p", { class: "wrong", role: "alert" }, message);
  const form = el(
    "form",
    {},
    el("img", { src: "/icons/icon.svg", alt: "" }),
    el("h1", {}, "Welcome to osier"),
    el("p", {}, "Enter the token of the URL that osier serve printed, or open that URL."),
    el("div", { class: "field" }, el("label", { for: "token" }, "Token"), field),
    fault,
    el("button", { class: "primary", type: "submit" }, "Sign in"),
  );
  root.replaceChildren(form);
  root.hidden = false;
  byId("app").hidden = true;
  field.focus();
  return new Promise((resolve) => {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await api.login(field.value.trim());
        root.hidden = true;
        byId("app").hidden = false;
        resolve();
      } catch (error) {
        fault.textContent = error.status === 401 ? "Wrong token." : error.message;
        field.select();
      }
    });
  });
}
