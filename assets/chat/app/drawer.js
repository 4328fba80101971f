// The advanced panel: model, thinking, permissions, context, files, MCP servers, cost, colours, developer mode. Each
// section is a method that returns an element and registers how to update it.

import { contextTree } from "./context.js";
import { Developer } from "./developer.js";
import { byId, el, iconButton, patch } from "./dom.js";
import { basename, dollars, modelName, plural, tokens } from "./format.js";
import { modelList } from "./models.js";
import { MODES } from "./modes.js";
import { ServerList } from "./servers.js";
import { setTheme, theme, THEMES } from "./theme.js";
import { showError } from "./toast.js";

const LEVELS = {
  off: "Off",
  minimal: "Minimal",
  low: "Low",
  medium: "Medium",
  high: "High",
  xhigh: "Very high",
  max: "Max",
};
const KINDS = {
  system: "Instructions",
  tools: "Tools",
  summaries: "Summaries",
  prompts: "Your messages",
  files: "Attached files",
  answers: "Answers",
  thinking: "Thinking",
  tool_calls: "Tool calls",
  tool_results: "Tool results",
  shell: "Your commands",
};

export class Drawer {
  /** The conversation of the current sections, and their update functions. */
  #drawn = undefined;
  #updates = {};
  #colours = null;

  /** `connection`: records its frames; `developer(on)`: called when developer mode changes. */
  constructor({ connection, developer }) {
    this.root = byId("drawer");
    this.events = new Developer(connection, developer);
    this.button = byId("open-drawer");
    this.button.addEventListener("click", () => this.toggle());
    this.body = el("div");
    this.root.append(
      el(
        "div",
        { class: "drawer-head" },
        el("h2", {}, "Advanced"),
        iconButton("close", "Close", () => this.toggle(false)),
      ),
      this.body,
    );
  }

  get isOpen() {
    return byId("app").classList.contains("drawer-open");
  }

  toggle(open = !this.isOpen) {
    byId("app").classList.toggle("drawer-open", open);
    this.root.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    if (open) (this.draw(), this.root.querySelector("button")?.focus({ preventScroll: true }));
    else if (this.root.contains(document.activeElement)) this.button.focus();
    dispatchEvent(new Event("panels"));
  }

  show(conversation) {
    this.conversation = conversation;
    if (this.isOpen) this.draw();
  }

  /** The status has changed. */
  update() {
    if (this.isOpen) this.draw();
  }

  /** An MCP server has changed. */
  servers() {
    if (this.isOpen) this.#updates.servers?.();
  }

  /**
   * Shows the current state. The sections are created once for a conversation and updated in place, which preserves
   * focus, scroll position and input.
   */
  draw() {
    const { conversation } = this;
    if (this.#drawn !== conversation) {
      this.#drawn = conversation;
      this.#updates = {};
      const parts = conversation
        ? [this.#model(), this.#level(), this.#permissions(), this.#context(), this.#files(), this.#servers(), this.#spending()]
        : [];
      this.#colours ??= colours();
      this.body.replaceChildren(...parts, this.#colours, this.events.section());
    }
    for (const update of Object.values(this.#updates)) update();
  }

  #do(type, parameters) {
    this.conversation
      .ask(type, parameters)
      .then(() => this.draw())
      .catch((error) => (showError(error), this.draw()));
  }

  #model() {
    const { conversation } = this;
    const provider = el("span");
    const name = el("strong");
    const list = modelList(conversation, (reference) => this.#do("set_model", { reference }));
    this.#updates.model = () => {
      const { model } = conversation.facts;
      provider.textContent = model?.provider ?? "";
      name.textContent = model ? modelName(model) : "None";
      list.mark();
    };
    return section("Model", provider, el("p", {}, name), list.nodes);
  }

  #level() {
    const { conversation } = this;
    const node = section("Thinking", "");
    const pick = (level) => this.#do("set_thinking_level", { level });
    let shown = "";
    let group = null;
    this.#updates.level = () => {
      const { model, thinkingLevel } = conversation.facts;
      const levels = model?.thinkingLevels ?? [];
      node.hidden = levels.length < 2;
      // The levels depend on the model.
      if (shown !== levels.join()) {
        shown = levels.join();
        const options = levels.map((level) => [level, LEVELS[level] ?? level]);
        const other = choice("Thinking", options, thinkingLevel, pick);
        if (group) group.replaceWith(other);
        else node.append(other);
        group = other;
      }
      mark(group, levels.indexOf(thinkingLevel));
    };
    return node;
  }

  #permissions() {
    const { facts } = this.conversation;
    const pick = (mode) => this.#do("set_permissions", { mode });
    const group = choice("Permissions", MODES, facts.permissions, pick);
    const hint = el("p", { class: "hint" });
    const { conversation } = this;
    this.#updates.permissions = () => {
      const place = MODES.findIndex(([name]) => name === conversation.facts.permissions);
      mark(group, place);
      hint.textContent = MODES[place]?.[2] ?? "";
    };
    return section("Permissions", "", group, hint);
  }

  #context() {
    const { conversation } = this;
    const body = el("div", {}, el("p", { class: "hint" }, "Counting…"));
    const compact = el("button", { class: "plain wide", type: "button" }, "Summarize the earlier conversation");
    compact.addEventListener("click", () => this.#do("compact", {}));
    const show = latest(
      () => conversation.ask("get_context"),
      ({ report }) => patch(body, el("div", {}, contextUsage(report))),
      () => patch(body, el("div", {}, el("p", { class: "hint" }, "No data yet."))),
    );
    this.#updates.context = () => {
      compact.disabled = conversation.running;
      show();
    };
    return section("Context", "", body, el("p", { class: "hint" }), compact);
  }

  #files() {
    const { conversation } = this;
    const body = el("div");
    this.#updates.files = latest(
      () => contextTree(conversation),
      (tree) => patch(body, el("div", {}, tree ?? el("p", { class: "hint" }, "No files yet."))),
      () => {},
    );
    return section("Files in the context", "", body);
  }

  /** The MCP servers: requested once, then updated by events. */
  #servers() {
    const { conversation } = this;
    const act = (name, action) => conversation.ask("mcp_server", { name, action }).catch(showError);
    const list = new ServerList(act);
    const node = section("MCP servers", "", list.node);
    this.#updates.servers = () => {
      list.show(conversation.servers);
      node.hidden = conversation.servers.length === 0;
    };
    conversation.readServers().catch(() => {});
    return node;
  }

  #spending() {
    const { conversation } = this;
    const facts = el("dl", { class: "facts-grid" });
    this.#updates.spending = () => {
      const { cost, tokenUsage: used = {}, cwd, sessionFile } = conversation.facts;
      const rows = [
        ["Cost", dollars(cost) || "$0.00"],
        ["Input", tokens(used.input)],
        ["Cache read", tokens(used.cacheRead)],
        ["Output", tokens(used.output)],
        ["Messages", plural(conversation.items.length, "message")],
        ["Directory", cwd],
        ["File", sessionFile ? basename(sessionFile) : "not stored"],
      ];
      const cells = rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value ?? "")]);
      patch(facts, el("dl", { class: "facts-grid" }, cells));
    };
    return section("This session", "", facts);
  }
}

/** The usage of the context window, as a bar with a legend. */
function contextUsage({ parts, used, window }) {
  const bar = el("div", {
    class: "window-bar",
    role: "img",
    "aria-label": `${tokens(used)} of ${tokens(window)} tokens`,
  });
  const legend = el("div", { class: "legend" });
  parts.forEach(({ kind, count, tokens: size }) => {
    const number = Object.keys(KINDS).indexOf(kind);
    const segment = el("i", { class: `kind-${number}` });
    segment.style.width = `${(100 * size) / window}%`;
    bar.append(segment);
    legend.append(
      el("i", { class: `kind-${number}` }),
      el("span", {}, `${KINDS[kind] ?? kind} (${count})`),
      el("span", { class: "n" }, tokens(size)),
    );
  });
  const share = window ? Math.round((100 * used) / window) : 0;
  return [el("p", {}, `${tokens(used)} of ${tokens(window)} tokens, ${share} %`), bar, legend];
}

/** Sends a request, and shows only the response of the newest one. */
function latest(ask, show, fail) {
  let asked = 0;
  return () => {
    const number = ++asked;
    const newest = (then) => (value) => number === asked && then(value);
    ask().then(newest(show), newest(fail));
  };
}

export function section(title, aside, ...children) {
  return el(
    "section",
    { class: "part", "aria-label": title },
    el("h3", {}, title, typeof aside === "string" ? aside && el("span", {}, aside) : aside),
    children,
  );
}

/** A radio group: `options` are `[value, label, description]`. The arrow keys move the focus. */
export function choice(label, options, current, pick) {
  const buttons = options.map(([value, text, title]) =>
    el(
      "button",
      {
        type: "button",
        role: "radio",
        title,
        on: { click: () => pick(value) },
      },
      text,
    ),
  );
  const group = el("div", { class: "segments", role: "radiogroup", "aria-label": label }, buttons);
  mark(
    group,
    options.findIndex(([value]) => value === current),
  );
  group.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    if (!step) return;
    buttons.at((buttons.indexOf(document.activeElement) + step) % buttons.length).focus();
  });
  return group;
}

/** Marks the option at `place` as selected; without one, the first is focusable. */
export function mark(group, place) {
  [...group.children].forEach((button, at) => {
    button.setAttribute("aria-checked", String(at === place));
    button.tabIndex = at === Math.max(place, 0) ? 0 : -1;
  });
}

function colours() {
  const pick = (name) => {
    setTheme(name);
    mark(
      group,
      THEMES.findIndex(([value]) => value === name),
    );
  };
  const group = choice(
    "Colours",
    THEMES.map(([value, label]) => [value, label]),
    theme(),
    pick,
  );
  return section("Colours", "", group);
}
