// The advanced drawer: model, thinking, permissions, what fills the context, cost, files, looks, developer mode.
// Each part is one function that gives an element; a part that must ask the agent fills itself when it can.

import { contextTree } from "./context.js";
import { Developer } from "./developer.js";
import { byId, el, iconButton } from "./dom.js";
import { basename, dollars, modelName, plural, tokens } from "./format.js";
import { ServerList } from "./servers.js";
import { setTheme, theme, THEMES } from "./theme.js";
import { complain } from "./toast.js";

const LEVELS = {
  off: "Off",
  minimal: "Minimal",
  low: "Low",
  medium: "Medium",
  high: "High",
  xhigh: "Very high",
  max: "Most",
};
const PERMISSIONS = [
  ["ask", "Ask", "Asks before anything is changed or run."],
  ["plan", "Plan", "Reads and thinks; nothing is changed."],
  ["yolo", "All", "Everything runs without a question."],
];
const KINDS = {
  system: "Instructions",
  tools: "Tools",
  summaries: "Summaries",
  prompts: "Your messages",
  files: "Files you gave",
  answers: "Answers",
  thinking: "Thinking",
  tool_calls: "Calls",
  tool_results: "Results of tools",
  shell: "Your commands",
};

export class Drawer {
  #models = null;

  /** `link` feeds the developer's list; `developer(on)` is told when the mode changes. */
  constructor({ link, models, developer }) {
    this.loadModels = models;
    this.root = byId("drawer");
    this.events = new Developer(link, developer);
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

  /** Facts have changed. What is open and typed stays as it is. */
  update() {
    if (this.isOpen && !this.root.contains(document.activeElement)) this.draw();
  }

  /** A server stands otherwise now. */
  servers() {
    if (this.isOpen) this.showServers?.();
  }

  draw() {
    const { conversation } = this;
    const parts = conversation
      ? [this.#model(), this.#level(), this.#permissions(), this.#context(), this.#files(), this.#servers(), this.#spending()]
      : [];
    this.body.replaceChildren(...parts.filter(Boolean), looks(), this.events.part());
  }

  #do(type, parameters) {
    this.conversation
      .ask(type, parameters)
      .then(() => this.draw())
      .catch(complain);
  }

  #model() {
    const { model } = this.conversation.facts;
    const search = el("input", { type: "search", placeholder: "Search models", "aria-label": "Search models" });
    const list = el("div", { class: "model-list", role: "listbox", "aria-label": "Models", hidden: true });
    const fill = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = ({ provider, id, name }) =>
        words.every((word) => `${provider}/${id} ${name}`.toLowerCase().includes(word));
      const shown = (this.#models ?? [])
        .filter((model) => fits(model))
        .sort((a, b) => rank(a) - rank(b))
        .slice(0, 60);
      list.replaceChildren(...shown.map((other) => this.#modelRow(other, model)));
      list.hidden = shown.length === 0;
    };
    search.addEventListener("input", fill);
    search.addEventListener("focus", async () => {
      this.#models ??= await this.loadModels(this.conversation).catch((error) => (complain(error), null));
      fill();
    });
    return part(
      "Model",
      model ? `${model.provider}` : "",
      el("p", {}, el("strong", {}, model ? modelName(model) : "None")),
      el("div", { class: "field" }, search),
      list,
    );
  }

  #modelRow(other, current) {
    const reference = `${other.provider}/${other.id}`;
    const chosen = current && reference === `${current.provider}/${current.id}`;
    const price = other.price?.input ? `$${other.price.input} / $${other.price.output}` : "";
    const row = el(
      "button",
      { type: "button", role: "option", "aria-selected": String(Boolean(chosen)) },
      el("span", {}, other.name || other.id),
      el("small", { class: "price", title: "Dollars per million tokens, in and out" }, price),
      el(
        "small",
        {},
        other.key === "absent"
          ? `${other.provider} · no key`
          : `${other.provider} · ${tokens(other.contextWindow)}`,
      ),
    );
    row.addEventListener("click", () => this.#do("set_model", { reference }));
    return row;
  }

  #level() {
    const { model, thinkingLevel } = this.conversation.facts;
    const levels = model?.thinkingLevels ?? [];
    if (levels.length < 2) return null;
    return part(
      "Thinking",
      "",
      choice(
        "Thinking",
        levels.map((level) => [level, LEVELS[level] ?? level]),
        thinkingLevel,
        (level) => this.#do("set_thinking_level", { level }),
      ),
    );
  }

  #permissions() {
    const mode = this.conversation.facts.permissions;
    const hint = PERMISSIONS.find(([name]) => name === mode)?.[2];
    return part(
      "Permissions",
      "",
      choice("Permissions", PERMISSIONS, mode, (mode) => this.#do("set_permissions", { mode })),
      el("p", { class: "hint" }, hint),
    );
  }

  #context() {
    const body = el("div", {}, el("p", { class: "hint" }, "Counting…"));
    const compact = el("button", { class: "plain wide", type: "button" }, "Summarise the earlier part");
    compact.disabled = this.conversation.running;
    compact.addEventListener("click", () => this.#do("compact", {}));
    this.conversation.ask("get_context").then(
      ({ report }) => {
        const bar = el("div", {
          class: "window-bar",
          role: "img",
          "aria-label": `${tokens(report.used)} of ${tokens(report.window)} tokens`,
        });
        const legend = el("div", { class: "legend" });
        report.parts.forEach(({ kind, count, tokens: size }) => {
          const number = Object.keys(KINDS).indexOf(kind);
          const piece = el("i", { class: `kind-${number}` });
          piece.style.width = `${(100 * size) / report.window}%`;
          bar.append(piece);
          legend.append(
            el("i", { class: `kind-${number}` }),
            el("span", {}, `${KINDS[kind] ?? kind} (${count})`),
            el("span", { class: "n" }, tokens(size)),
          );
        });
        const share = report.window ? Math.round((100 * report.used) / report.window) : 0;
        body.replaceChildren(
          el("p", {}, `${tokens(report.used)} of ${tokens(report.window)} tokens, ${share} %`),
          bar,
          legend,
        );
      },
      () => body.replaceChildren(el("p", { class: "hint" }, "Not known yet.")),
    );
    return part("Context", "", body, el("p", { class: "hint" }), compact);
  }

  #files() {
    const body = el("div", {}, el("p", { class: "hint" }, "Nothing yet."));
    contextTree(this.conversation).then(
      (tree) => tree && body.replaceChildren(tree),
      () => {},
    );
    return part("Files in the context", "", body);
  }

  /** How the MCP servers stand: asked for once, told from then on. */
  #servers() {
    const list = new ServerList((name, action) =>
      this.conversation.ask("mcp_server", { name, action }).catch(complain),
    );
    const section = part("MCP servers", "", list.node);
    this.showServers = () => {
      list.show(this.conversation.servers);
      section.hidden = this.conversation.servers.length === 0;
    };
    this.showServers();
    this.conversation.ask("list_mcp_servers").then(
      ({ servers }) => ((this.conversation.servers = servers), this.showServers()),
      () => {},
    );
    return section;
  }

  #spending() {
    const { cost, tokenUsage: used = {}, cwd, sessionFile } = this.conversation.facts;
    const rows = [
      ["Cost", dollars(cost) || "$0.00"],
      ["In", tokens(used.input)],
      ["From the cache", tokens(used.cacheRead)],
      ["Out", tokens(used.output)],
      ["Messages", plural(this.conversation.items.length, "message")],
      ["Folder", cwd],
      ["Stored as", sessionFile ? basename(sessionFile) : "nothing"],
    ];
    return part(
      "This session",
      "",
      el(
        "dl",
        { class: "facts-grid" },
        rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value ?? "")]),
      ),
    );
  }
}

/** Models that can be called come first. */
const rank = (model) => (model.inCycle ? 0 : model.key === "absent" ? 2 : 1);

export function part(title, aside, ...children) {
  return el(
    "section",
    { class: "part", "aria-label": title },
    el("h3", {}, title, aside && el("span", {}, aside)),
    children,
  );
}

/** One of a few: `options` are `[value, label, description]`. The arrow keys walk, as in a group of radio buttons. */
export function choice(label, options, current, pick) {
  const buttons = options.map(([value, text, title]) =>
    el(
      "button",
      {
        type: "button",
        role: "radio",
        title,
        "aria-checked": String(value === current),
        tabindex: value === current ? "0" : "-1",
        on: { click: () => pick(value) },
      },
      text,
    ),
  );
  if (!options.some(([value]) => value === current)) buttons[0]?.setAttribute("tabindex", "0");
  const group = el("div", { class: "segments", role: "radiogroup", "aria-label": label }, buttons);
  group.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    if (!step) return;
    buttons.at((buttons.indexOf(document.activeElement) + step) % buttons.length).focus();
  });
  return group;
}

function looks() {
  const pick = (name) => {
    setTheme(name);
    group
      .querySelectorAll("button")
      .forEach((button, place) => button.setAttribute("aria-checked", String(THEMES[place][0] === name)));
  };
  const group = choice(
    "Colours",
    THEMES.map(([value, label]) => [value, label]),
    theme(),
    pick,
  );
  return part("Colours", "", group);
}
