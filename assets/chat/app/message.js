// Renders one message. A streaming answer updates only the block that grows.

import { el, glyph, iconButton } from "./dom.js";
import { basename, bytes, dollars, duration, tokens, when } from "./format.js";
import { StreamingMarkdown, show } from "./markdown.js";
import { sourceOf } from "./images.js";
import { ToolView } from "./tool.js";

/** Prompts longer than this are collapsed. */
const COLLAPSE_ABOVE = 1200;

/** Roles with a single block. */
const SIMPLE = {
  notice: ({ severity, text }) => el("p", { class: `notice ${severity}` }, text),
  custom: ({ text, display }) => (display ? prose(text) : null),
  compactionSummary: ({ summary }) => collapsed("Earlier conversation summarized", summary),
  branchSummary: ({ summary }) => collapsed("Branch summarized", summary),
};

export class MessageView {
  /** Views of the blocks of an answer, by index. */
  #blocks = [];
  /** The label and the other branches that are shown. */
  #branches = "";

  /** `transcript` provides the views of tools and the menu. */
  constructor(item, transcript) {
    this.item = item;
    this.transcript = transcript;
    this.node = el("article", { class: "message", tabindex: "-1", data: { key: item.key } });
    this.update();
  }

  update() {
    const { item } = this;
    this.node.classList.add({ user: "user", assistant: "answer" }[item.role] ?? "aside");
    this.node.setAttribute("aria-label", { user: "You", assistant: "osier" }[item.role] ?? "Note");
    if (item.entryId) this.node.dataset.entry = item.entryId;
    if (item.role === "user") this.#user(item.message);
    else if (item.role === "assistant") this.#answer(item.message);
    else if (item.role === "shellRun") this.#shell(item.message);
    else this.node.replaceChildren(...[SIMPLE[item.role]?.(item.message)].filter(Boolean));
    this.updateFooter();
  }

  /** Updates an open block. */
  delta(index, delta) {
    const block = this.item.message.content[index];
    const view = this.#blocks[index] ?? this.#addBlock(index, block);
    view.delta?.(block, delta);
  }

  #user({ text, attachments = [] }) {
    const body = el("div", { class: "prompt-text" }, text);
    const parts = [
      attachments.length > 0 && el("div", { class: "attached" }, attachments.map(attached)),
      text && body,
    ];
    if (text.length > COLLAPSE_ABOVE) {
      body.classList.add("long");
      const more = el("button", { class: "more", type: "button" }, "Show all");
      more.addEventListener(
        "click",
        () => (more.textContent = body.classList.toggle("long") ? "Show all" : "Show less"),
      );
      parts.push(more);
    }
    // Screen readers navigate between prompts by headings.
    parts.unshift(el("h2", { class: "unseen" }, "You"));
    this.node.replaceChildren(...parts.filter(Boolean));
  }

  #answer(message) {
    if (!this.body) {
      this.body = el("div", { class: "blocks" });
      this.node.replaceChildren(this.body);
    }
    message.content?.forEach((block, index) => {
      const view = this.#blocks[index] ?? this.#addBlock(index, block);
      if (!this.item.live) view.end?.(block);
    });
    this.node.querySelector(":scope > .failed, :scope > .stopped")?.remove();
    const ending = this.item.live ? null : ended(message);
    if (ending) this.body.after(ending);
  }

  #addBlock(index, block) {
    const view = (VIEWS[block?.type] ?? VIEWS.text)(block, this);
    this.#blocks[index] = view;
    const next = this.#blocks.slice(index + 1).find(Boolean);
    this.body.insertBefore(view.node, next?.node ?? null);
    return view;
  }

  #shell(run) {
    const failed = run.exitCode !== undefined && run.exitCode !== 0;
    const state = this.item.live ? "running" : failed || run.cancelled ? "bad" : "good";
    const sign = this.item.live ? el("span", { class: "spinner" }) : glyph(failed ? "fault" : "check");
    const open = this.node.querySelector("details")?.open ?? true;
    this.node.replaceChildren(
      el(
        "details",
        { class: `tool ${state}`, open },
        el(
          "summary",
          {},
          el("span", { class: "status" }, sign),
          el("span", { class: "verb" }, "You ran"),
          el("span", { class: "what" }, run.command),
          el("span", { class: "facts" }, failed ? `exit ${run.exitCode}` : ""),
        ),
        el(
          "div",
          { class: "tool-body" },
          el("pre", { class: "output", tabindex: "0", "aria-label": "Output" }, run.output),
        ),
      ),
    );
  }

  /** The label above the message. */
  #label() {
    this.node.querySelector(":scope > .label-tag")?.remove();
    const label = this.transcript.conversation.tree.labelOf(this.item.entryId);
    if (label) this.node.prepend(el("span", { class: "label-tag" }, label));
  }

  /** Updates what depends on the tree of branches, if that has changed. */
  updateBranches() {
    if (this.#branches !== this.#ofTree()) this.updateFooter();
  }

  /** The label and the other branches of the message, as a text. */
  #ofTree() {
    const { item, transcript } = this;
    return JSON.stringify([transcript.conversation.tree.labelOf(item.entryId), transcript.siblingsOf(item)]);
  }

  /** Updates the label, and the row with branches, actions and facts. */
  updateFooter() {
    this.#branches = this.#ofTree();
    this.#label();
    this.node.querySelector(":scope > .actions")?.remove();
    const { item } = this;
    const asides = !["user", "assistant"].includes(item.role);
    const silent =
      item.role === "assistant" && !(item.message.content ?? []).some((block) => block?.type === "text");
    if (item.live || asides) return;
    const siblings = this.transcript.siblings(item);
    if (silent && !siblings) return;
    const more = iconButton("more", "More actions", (event) => this.transcript.menu(item, event.currentTarget));
    const copy = iconButton("copy", "Copy", () => this.transcript.act("copy", item));
    const edit =
      item.role === "user"
        ? iconButton("edit", "Edit and send again", () => this.transcript.act("edit", item))
        : null;
    const retry =
      item.role === "assistant" && item.entryId
        ? iconButton("retry", "Retry", () => this.transcript.act("retry", item))
        : null;
    this.node.append(
      el(
        "div",
        { class: "actions" },
        siblings,
        silent ? [] : [copy, edit, retry, more, el("span", { class: "meta" }, facts(item))],
      ),
    );
  }
}

/** Views of blocks: `node`, `delta(block, delta)` for an update, `end(block)` when the block is complete. */
const VIEWS = {
  text(block, view) {
    const node = el("div", { class: "prose" });
    let growing = null;
    if (view.item.live) {
      growing = new StreamingMarkdown(node);
      if (block?.text) growing.append(block.text);
    }
    let ended = false;
    const end = ({ text }) => {
      if (ended) return;
      ended = true;
      if (growing) growing.end(text);
      else show(node, text);
    };
    const delta = (block, delta) => {
      if (delta.type === "text_delta") growing?.append(delta.delta);
      else if (delta.type === "text_end") end(block);
    };
    return { node, delta, end };
  },

  thinking(block) {
    const title = el("span", {}, "Thinking");
    const thought = el("div", { class: "thought", tabindex: "0" });
    const node = el(
      "details",
      { class: "thinking" },
      el("summary", {}, el("span", { class: "turn", "aria-hidden": "true" }, "▸"), title),
      thought,
    );
    const since = performance.now();
    const paint = (block, live) => {
      node.classList.toggle("live", live);
      title.classList.toggle("shimmer", live);
      if (node.open) thought.textContent = block.thinking || "The provider does not share this thinking.";
    };
    let current = block;
    node.addEventListener("toggle", () => paint(current, node.classList.contains("live")));
    paint(block, Boolean(block.live));
    if (!block.live) title.textContent = "Thought";
    return {
      node,
      delta(block, delta) {
        current = block;
        if (delta.type === "thinking_end") title.textContent = `Thought for ${duration(performance.now() - since)}`;
        paint(block, delta.type !== "thinking_end");
      },
      end(block) {
        current = block;
        if (title.textContent === "Thinking") title.textContent = "Thought";
        paint(block, false);
      },
    };
  },

  toolCall(block, view) {
    const tool = view.transcript.tool(block.id);
    return {
      node: tool.node,
      delta: (_, delta) => delta.type === "toolcall_end" && tool.update(),
      end: () => tool.update(),
    };
  },
};

/** Why an answer ended early. */
function ended({ stopReason, errorMessage }) {
  if (stopReason === "error")
    return el("div", { class: "failed", role: "alert" }, errorMessage ?? "The model call failed.");
  const words = {
    aborted: "Stopped",
    length: "Cut off at the model's output limit",
    refusal: "Stopped by the provider's content filter",
  }[stopReason];
  return words ? el("p", { class: "stopped" }, words) : null;
}

function facts({ role, message }) {
  if (role === "user") return when(message.timestamp);
  const used = message.usage ? `${tokens(message.usage.output)} tokens` : "";
  return [
    message.model && basename(message.model),
    used,
    dollars(message.usage?.cost?.total),
    when(message.timestamp),
  ]
    .filter(Boolean)
    .join(" · ");
}

function attached(attachment) {
  const source = sourceOf(attachment);
  return source
    ? el("img", { src: source, alt: attachment.fileName })
    : el("span", { class: "file" }, `${attachment.fileName} · ${bytes(attachment.size)}`);
}

function prose(text) {
  const node = el("div", { class: "prose" });
  show(node, text);
  return node;
}

function collapsed(title, text) {
  const node = el(
    "details",
    { class: "summary" },
    el("summary", {}, el("span", { class: "turn", "aria-hidden": "true" }, "▸"), title),
  );
  node.addEventListener("toggle", () => node.children.length < 2 && node.append(prose(text)), { once: true });
  return node;
}
