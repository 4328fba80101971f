// The card at the end of a conversation whose last run failed: the reason, and what helps.

import { byId, el, glyph, withCode } from "./dom.js";

/** The title and the first action for each kind of failure. */
const KINDS = {
  auth_error: { title: "The provider rejected the API key", first: "signIn" },
  quota_exceeded: { title: "The quota of the provider is used up", first: "model" },
  rate_limit: { title: "The provider received too many requests" },
  network_error: { title: "The provider cannot be reached" },
  timeout: { title: "The provider did not answer in time" },
  context_overflow: { title: "The conversation is too long for this model", first: "model" },
  max_turns: { title: "The run reached its limit of turns" },
  unanswered: { title: "This message has no answer" },
  interrupted: { title: "The run did not end" },
};
const OTHER = { title: "The run failed" };

/** The failure of an outcome of a run; `null` if it did not fail. */
export function failureOf(outcome) {
  if (outcome.type === "failed") return { kind: outcome.status.type, message: outcome.status.message };
  if (outcome.type === "stopped") return { kind: "stopped", message: outcome.message };
  if (outcome.type === "max_turns")
    return { kind: "max_turns", message: `The model gave no answer within ${outcome.maxTurns} turns.` };
  return null;
}

/** The failure in one line, for the place where the run failed. */
export function failureLine({ kind, message }) {
  const { title } = KINDS[kind] ?? OTHER;
  return message && message !== title ? `${title}: ${message}` : title;
}

/** Shows the failure of a conversation; `actions` are `retry`, `model` and `signIn`. */
export function showFailure(conversation, actions) {
  const node = byId("failure");
  const failure = conversation?.running ? null : conversation?.failure;
  node.hidden = !failure;
  if (!failure) return node.replaceChildren();
  const { title, first = "retry" } = KINDS[failure.kind] ?? OTHER;
  const button = (name, label, icon) =>
    el(
      "button",
      { class: name === first ? "primary" : "plain", type: "button", on: { click: actions[name] } },
      icon && glyph(icon),
      label,
    );
  node.replaceChildren(
    el(
      "section",
      { class: "failure", role: "alert", "aria-label": title },
      el("h2", {}, glyph("fault"), title),
      failure.message && failure.message !== title && el("p", { class: "reason", tabindex: "0" }, withCode(failure.message)),
      el(
        "div",
        { class: "failure-actions" },
        button("retry", "Retry", "retry"),
        button("model", "Change model"),
        button("signIn", "Sign in"),
      ),
    ),
  );
}
