// Signs in to a provider: a list of providers, then the inputs of the chosen provider.

import { el } from "./dom.js";
import { openPanel } from "./menu.js";
import { showError, toast } from "./toast.js";

/** The labels of the ways to sign in. */
const METHODS = { browser: "Sign in with a browser", device: "Sign in with a code", key: "Enter an API key" };
/** The labels of the inputs that the server waits for. */
const INPUTS = { code: "The address that the browser ended at, or its code", key: "API key" };

/** A dialog to sign in; `provider`, if given, is listed first. Resolves to whether a provider can be used now. */
export function signIn(conversation, provider = null) {
  return openPanel("Sign in", (close) => {
    const body = el("div", { class: "accounts" });
    const stop = new AbortController();
    const on = (type, listener) =>
      conversation.addEventListener(type, ({ detail }) => listener(detail), { signal: stop.signal });
    on("login_started", (started) => body.replaceChildren(...waiting(conversation, started)));
    on("login_refused", ({ message }) => (body.querySelector("[role=alert]").textContent = message));
    on("login_ended", ({ error, provider }) => {
      if (error) return void list(error);
      toast(`Signed in to ${provider}`);
      close(true);
    });
    const list = async (fault) => {
      const { accounts } = await conversation.ask("list_accounts");
      const rank = (account) => (account.provider === provider ? 0 : account.methods.length > 0 ? 1 : 2);
      const rows = accounts
        .filter(({ provider }) => provider !== "demo")
        .sort((a, b) => rank(a) - rank(b))
        .map((account) => row(account, (method) => login(account.provider, method)));
      body.replaceChildren(fault ? el("p", { class: "wrong", role: "alert" }, fault) : "", ...rows);
    };
    const login = (provider, method) =>
      conversation.ask("login", { provider, method }).catch((error) => list(error.message));
    list().catch(showError);
    return { nodes: [body], closed: () => (stop.abort(), conversation.ask("cancel_login").catch(() => {})) };
  });
}

function row({ provider, label, methods, source, ending }, login) {
  const has = source.type !== "nothing";
  const state = has ? `signed in${ending ? ` · …${ending}` : ""}` : "";
  return el(
    "section",
    { class: "account", "aria-label": label || provider },
    el("strong", {}, label || provider),
    el("small", { class: "hint" }, state),
    el(
      "div",
      { class: "account-ways" },
      // Every provider takes an API key.
      [...new Set([...methods, "key"])].map((method) =>
        el("button", { class: "plain", type: "button", on: { click: () => login(method) } }, METHODS[method] ?? method),
      ),
    ),
  );
}

/** The next step of the user. */
function waiting(conversation, { label, url, userCode, input }) {
  const fault = el("p", { class: "wrong", role: "alert" });
  const parts = [el("p", {}, `Sign in to ${label}.`)];
  if (/^https:\/\//i.test(url ?? ""))
    parts.push(el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, "Open the sign-in page"));
  if (userCode) parts.push(el("p", {}, "Enter this code there: ", el("code", {}, userCode)));
  const what = INPUTS[input];
  if (!what) return [...parts, fault];
  const field = el("input", { type: input === "key" ? "password" : "text", autocomplete: "off", "aria-label": what });
  const send = (event) => {
    event.preventDefault();
    if (field.value.trim()) conversation.ask("login_input", { text: field.value.trim() }).catch(showError);
  };
  const form = el(
    "form",
    { on: { submit: send } },
    el("label", { class: "field" }, el("span", {}, what), field),
    fault,
    el("button", { class: "primary", type: "submit" }, "Sign in"),
  );
  requestAnimationFrame(() => field.focus());
  return [...parts, form];
}
