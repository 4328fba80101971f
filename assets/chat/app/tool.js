// One tool call: a row that opens to show the output.

import { el, glyph } from "./dom.js";
import { counts, diff } from "./diff.js";
import { duration, visible } from "./format.js";
import { imageSource } from "./images.js";
import { subagentFacts } from "./subagent_facts.js";
import { counted, subject, toolRow } from "./tool_rows.js";

/** The verb of a call in each state: a call that did not run must not read as if it had run. */
const VERBS = {
  writing: ({ now }) => now,
  running: ({ now }) => now,
  asks: ({ base }) => `Wants to ${base}`,
  waits: ({ base }) => `Wants to ${base}`,
  good: ({ done }) => done,
  bad: ({ base }) => `Failed to ${base}`,
  denied: ({ base }) => `Did not ${base}`,
  ended: ({ base }) => `Did not finish: ${base}`,
};

/** The state of a call as it is shown. */
function shownState(call, id, conversation) {
  if (call.state === "running" && conversation.isAsking(id)) return "asks";
  // No call of an answer runs before all of them are allowed or refused.
  if (call.state === "running" && conversation.asksPermission()) return "waits";
  if (call.state !== "bad") return call.state;
  if (call.result?.status?.type === "denied") return "denied";
  // A command that ran and failed ran.
  return call.result?.details?.exitCode ? "good" : "bad";
}

/** The facts at the end of the row. */
function facts(call) {
  const details = call.result?.details ?? {};
  const list = [];
  if (details.diff) {
    const { added, removed } =
      details.linesAdded === undefined
        ? counts(details.diff)
        : { added: details.linesAdded, removed: details.linesRemoved };
    if (added) list.push(el("span", { class: "plus" }, `+${added}`));
    if (removed) list.push(el("span", { class: "minus" }, `−${removed}`));
  } else if (details.exitCode) list.push(`exit ${details.exitCode}`);
  else if (counted(call.name, details)) list.push(counted(call.name, details));
  if (call.result?.durationMs >= 1000) list.push(duration(call.result.durationMs));
  return list.map((fact) => (fact instanceof Node ? fact : el("span", {}, fact)));
}

/** The states for screen readers. */
const STATES = {
  writing: "is being prepared",
  running: "is running",
  good: "succeeded",
  bad: "failed",
  asks: "waits for your answer",
  waits: "waits until all calls are allowed or refused",
  denied: "was refused",
  ended: "was interrupted",
};
const REVIEWED = { allow: "allowed", ask: "asked", deny: "denied" };
const MARKS = { good: "check", bad: "fault", asks: "hand", waits: "clock", denied: "barred", ended: "clock" };

function mark(state) {
  const sign = MARKS[state] ? glyph(MARKS[state]) : el("span", { class: "spinner" });
  return el("span", { class: "status" }, sign, el("span", { class: "unseen" }, STATES[state]));
}

/** The text of the result. */
export function resultText(result) {
  return (result?.content ?? [])
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n");
}

export class ToolView {
  constructor(id, conversation) {
    this.id = id;
    this.conversation = conversation;
    this.node = el("details", { class: "tool", data: { call: id } }, el("summary"));
    this.node.addEventListener("toggle", () => this.node.open && this.#fill());
    this.node.firstChild.addEventListener("click", (event) => {
      const info = this.#subagent;
      if (!info) return;
      event.preventDefault();
      this.conversation.emit("subagent", { info });
    });
    this.update();
  }

  get call() {
    return this.conversation.calls.get(this.id) ?? { state: "ended", name: "tool", output: "" };
  }

  /** The subagent that the call started, if it is in memory. */
  get #subagent() {
    return this.conversation.subagents.find(({ callId }) => callId === this.id);
  }

  update() {
    const { call } = this;
    const name = call.name ?? "tool";
    const verbs = toolRow(name)?.verbs;
    const given = call.arguments && typeof call.arguments === "object" ? call.arguments : {};
    const over = ["good", "bad", "ended"].includes(call.state);
    const state = shownState(call, this.id, this.conversation);
    const isRunning = !over && !["asks", "waits"].includes(state);
    const info = this.#subagent;
    this.node.className = `tool ${state === "good" ? call.state : state}${isRunning ? " running" : ""}${info ? " agent" : ""}`;
    this.node.firstChild.replaceChildren(
      mark(state === "good" ? call.state : state),
      el("span", { class: "verb" }, verbs ? VERBS[state](verbs) : name),
      el("span", { class: "what" }, visible(subject(name, given, this.conversation.facts.cwd))),
      el("span", { class: "facts" }, state === "denied" ? "refused" : state === "asks" ? "waiting for you" : this.#facts(call)),
    );
    if (over && !this.seen) this.#reveal(call);
    if (this.node.open) this.#fill();
  }

  #facts(call) {
    const info = this.#subagent;
    return info ? [info.id, ...subagentFacts(info, 40)].map((fact) => el("span", {}, fact)) : facts(call);
  }

  /** Opens short file changes. */
  #reveal(call) {
    this.seen = true;
    const patch = call.result?.details?.diff;
    if (patch && patch.length < 6000 && this.node.dataset.touched !== "true") this.node.open = true;
  }

  #fill() {
    const { call } = this;
    const body = el("div", { class: "tool-body" }, this.#content(call));
    const place = this.node.querySelector(".output:last-of-type")?.scrollTop;
    this.node.querySelector(".tool-body")?.remove();
    this.node.append(body);
    const output = body.querySelector(".output:last-of-type");
    if (output) output.scrollTop = call.result ? (place ?? 0) : output.scrollHeight;
  }

  #content(call) {
    const parts = [];
    const details = call.result?.details ?? {};
    if (toolRow(call.name)?.subject[0]?.kind === "command" && call.arguments?.command)
      parts.push(pre(visible(`$ ${call.arguments.command}`), "Command", "output command"));
    const review = call.review ?? details.review;
    if (review)
      parts.push(
        el("p", { class: "progress" }, `Auto review (${review.model}): ${REVIEWED[review.decision]}: ${review.reason}`),
      );
    if (call.line && !call.result) parts.push(el("p", { class: "progress" }, call.line));
    if (details.diff && call.state === "good") parts.push(diff(details.diff, call.arguments?.file_path));
    else if (call.screen !== undefined) parts.push(pre(call.screen, "Screen of the terminal"));
    else if (call.result) parts.push(pre(resultText(call.result), "Output"));
    else if (call.output) parts.push(pre(call.output, "Output"));
    for (const part of call.result?.content ?? []) {
      const source = part.type === "image" && imageSource(part.mimeType, part.data);
      if (source)
        parts.push(el("figure", {}, el("img", { src: source, alt: "Image from the tool", loading: "lazy" })));
    }
    if (document.body.classList.contains("developer")) parts.push(raw(call));
    else if (parts.length === 0) parts.push(el("p", { class: "progress" }, "No output yet"));
    return parts;
  }
}

function pre(text, label, kind = "output") {
  return el("pre", { class: kind, tabindex: "0", "aria-label": label }, text);
}

function raw(call) {
  const text = JSON.stringify(
    { arguments: call.arguments, details: call.result?.details, status: call.result?.status },
    null,
    2,
  );
  return el("details", { class: "raw" }, el("summary", {}, "Raw data"), pre(text, "Raw data"));
}
