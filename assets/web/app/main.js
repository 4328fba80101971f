// Where the page begins: it joins the server, the session in sight and the views, and holds nothing else.

import { act, messageMenu } from "./actions.js";
import { Refused, api } from "./api.js";
import { Company, writerBeside } from "./company.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { byId, el } from "./dom.js";
import { Drawer } from "./drawer.js";
import { Fan } from "./fan.js";
import { dollars, duration, line, relative } from "./format.js";
import { Link } from "./link.js";
import { askToken, tokenOfAddress } from "./login.js";
import { askLine, askYes, openMenu } from "./menu.js";
import { Questions } from "./questions.js";
import { tellRestored } from "./restore.js";
import { SessionList } from "./sessions.js";
import { banner, install, toggleSide, watchPanels } from "./shell.js";
import { apply as applyTheme } from "./theme.js";
import { complain, toast } from "./toast.js";
import { Transcript } from "./transcript.js";

/** How often the list of sessions is read while it can be seen, in milliseconds. */
const REFRESH = 12_000;

class Page {
  conversation = null;

  constructor() {
    this.link = new Link(() => known());
    this.composer = new Composer({
      send: (message) => this.send(message),
      stop: () => this.stop(),
      recall: () => this.recall(),
      settings: () => this.drawer.toggle(true),
    });
    this.transcript = new Transcript({
      act: (name, item, more) => act(name, item, this, more),
      menu: (item, anchor) => messageMenu(item, this, anchor),
    });
    this.questions = new Questions();
    this.lanes = new Fan();
    this.company = new Company();
    this.sessions = new SessionList({
      open: (row, isOpen) => this.#openRow(row, isOpen),
      menu: (row, isOpen, anchor) => this.#rowMenu(row, isOpen, anchor),
    });
    this.drawer = new Drawer({
      link: this.link,
      models: (conversation) => models(conversation),
      developer: () => this.transcript.refresh(),
    });
    byId("new-session").addEventListener("click", () => this.#create().catch(complain));
    byId("title").addEventListener("dblclick", () => this.#rename());
    watchPanels(() => this.drawer.isOpen && this.drawer.toggle(false));
    this.link.addEventListener("state", ({ detail }) => this.#linkState(detail));
    addEventListener("popstate", () => this.#fromAddress());
    setInterval(() => document.visibilityState === "visible" && this.refresh(), REFRESH);
    setInterval(() => this.#activity(), 1000);
  }

  begin() {
    byId("app").hidden = false;
    this.link.start();
  }

  /** The list of sessions anew. */
  async refresh() {
    try {
      this.list = await api.sessions();
      this.sessions.show(this.list, this.#here());
    } catch (error) {
      if (error.status === 401) this.#linkState("denied");
    }
  }

  /** The ids of the session in sight: that it was opened by, and that it has since it was forked. */
  #here() {
    return [this.conversation?.id, this.conversation?.facts.sessionId];
  }

  async #fromAddress() {
    const id = new URLSearchParams(location.search).get("session");
    const open = this.list?.open ?? [];
    const wanted = open.find((row) => row.id === id);
    if (wanted) return this.#show(wanted.id);
    if (id) return this.#create({ session: id }).catch((error) => (complain(error), this.#first(open)));
    return this.#first(open);
  }

  #first(open) {
    return open.length > 0 ? this.#show(open[0].id) : this.#create().catch(complain);
  }

  async #create(wishes = {}) {
    const { cwd } = this.conversation?.facts ?? {};
    const { id } = await api.openSession({ ...(cwd ? { cwd } : {}), ...wishes });
    await this.#show(id);
    this.refresh();
  }

  async #openRow(row, isOpen) {
    toggleSide(false);
    try {
      if (this.#here().includes(row.id)) return;
      if (isOpen) await this.#show(row.id);
      else await this.#create({ session: row.id });
    } catch (error) {
      complain(error);
    }
  }

  /** Brings a session into sight. */
  async #show(id) {
    if (this.conversation?.id === id) return;
    this.conversation?.close();
    const conversation = (this.conversation = new Conversation(this.link, id));
    const on = (type, listener) =>
      conversation.addEventListener(type, ({ detail }) => this.conversation === conversation && listener(detail));
    on("status", () => this.#status());
    on("queue", () => this.composer.showQueue(conversation.queue));
    on("question", () => this.questions.next());
    on("closed", () => this.questions.next());
    on("notice", ({ severity, text }) => toast(text, severity));
    on("settled", () => (this.drawer.update(), this.refresh()));
    on("unstored", ({ texts }) => this.composer.put(texts.join("\n\n")));
    on("ended", () => this.refresh());
    on("fan", () => this.lanes.update());
    on("company", () => this.company.update());
    on("servers", () => this.drawer.servers());
    on("restored", (restored) => tellRestored(restored, conversation));
    this.transcript.show(conversation);
    this.questions.show(conversation);
    this.lanes.show(conversation);
    this.company.show(conversation);
    this.composer.showQueue(conversation.queue);
    history.replaceState(null, "", `?session=${encodeURIComponent(id)}`);
    // At once: what is typed before the session is there is typed into the prompt, and not at a button.
    const writes = matchMedia("(pointer: fine)").matches;
    if (writes) this.composer.field.focus();
    await conversation.open();
    this.drawer.show(conversation);
    this.#status();
    this.sessions.draw(this.#here());
    // The first session of a page: until now nothing could be written.
    if (writes && document.activeElement === document.body) this.composer.field.focus();
  }

  #status() {
    const { conversation } = this;
    const { facts } = conversation;
    const first = conversation.items.find((item) => item.role === "user")?.message.text;
    const name = facts.sessionName || line(first, 80) || "New session";
    byId("title").textContent = name;
    document.title = conversation.running ? `● ${name}` : `${name} · osier`;
    byId("subtitle").textContent = [relative(facts.cwd, null), facts.branch].filter(Boolean).join(" · ");
    byId("cost").textContent = dollars(facts.cost);
    this.composer.update(conversation);
    this.#activity();
  }

  /** The line above the composer while the agent works. */
  #activity() {
    const node = byId("activity");
    const { conversation } = this;
    const busy = Boolean(conversation && (conversation.running || conversation.phase));
    if (!busy) {
      this.since = null;
      node.querySelector(".leaves")?.remove();
      node.querySelector(".state")?.remove();
      node.hidden = !node.hasChildNodes();
      return;
    }
    this.since ??= Date.now();
    node.hidden = false;
    if (!node.querySelector(".leaves"))
      node.prepend(
        el("span", { class: "leaves", "aria-hidden": "true" }, el("i"), el("i"), el("i")),
        el("span", { class: "state" }),
      );
    const spent = Date.now() - this.since;
    node.querySelector(".state").textContent =
      `${conversation.phase || "Working"}${spent > 3000 ? ` · ${duration(spent)}` : ""}`;
  }

  async send({ text, images, editing, followUp }) {
    const { conversation } = this;
    if (!this.link.connected) throw new Error("Not sent: the server cannot be reached. Your message stays here.");
    const writer = writerBeside(conversation);
    if (writer)
      throw Object.assign(new Error(`${writer.name} writes here. Your message stays in its field.`), {
        severity: "warning",
        action: { label: "Take over", press: () => this.company.takeOver() },
      });
    if (editing) {
      if (conversation.running) throw new Error("Stop the agent first, then send it again.");
      await conversation.ask("move_to", { entryId: editing.entryId });
    }
    if (text.startsWith("!") && images.length === 0)
      return conversation.ask("bash", {
        command: text.replace(/^!+/, "").trim(),
        excludeFromContext: text.startsWith("!!"),
      });
    const attachments = editing?.message.attachments ?? [];
    const streamingBehavior = conversation.running ? (followUp ? "followUp" : "steer") : undefined;
    await conversation.prompt({ message: text, images, attachments, streamingBehavior });
  }

  stop() {
    this.conversation?.ask("abort").catch(complain);
  }

  /** Takes what waits back into the field. */
  async recall() {
    const { steering, followUp } = await this.conversation.ask("clear_queue");
    this.conversation.sent = [];
    this.composer.put([...steering, ...followUp].map(({ text }) => text).join("\n\n"));
  }

  /** Sends the last prompt to several models. */
  async fan() {
    await this.lanes.begin(await models(this.conversation));
  }

  /** A copy of the conversation up to a message, as a session of its own; this one stays. */
  async fork(item) {
    const { conversation } = this;
    await conversation.ask("fork", { entryId: item.entryId });
    if (item.role === "user") this.composer.put(item.message.text);
    toast("This is a new session with a copy of the conversation up to there.");
    this.refresh();
  }

  async #rename() {
    const name = await askLine("Name of the session", this.conversation?.facts.sessionName ?? "");
    if (name !== null)
      await this.conversation.ask("set_session_name", { name }).then(() => this.refresh(), complain);
  }

  #rowMenu(row, isOpen, anchor) {
    const here = this.#here().includes(row.id);
    openMenu(
      "Session",
      [
        here && { icon: "name", label: "Rename", press: () => this.#rename() },
        isOpen && { icon: "leave", label: "Close", press: () => this.#close(row) },
        !isOpen &&
          this.conversation && {
            icon: "trash",
            label: "Move to the trash",
            danger: true,
            press: () => this.#trash(row),
          },
      ],
      anchor,
    );
  }

  async #close(row) {
    if (
      row.state === "working" &&
      !(await askYes(
        "Close this session?",
        "The agent is at work in it and will be stopped. What was said is kept.",
        "Close",
      ))
    )
      return;
    await api.closeSession(row.id).catch(complain);
    await this.refresh();
    if (!this.#here().includes(row.id)) return;
    this.conversation.close();
    this.conversation = null;
    this.transcript.show(null);
    await this.#first(this.list?.open ?? []);
  }

  async #trash(row) {
    if (!(await askYes("Move it to the trash?", line(row.name || row.firstPrompt, 200), "Move to the trash")))
      return;
    await this.conversation.ask("delete_session", { path: row.path }).catch(complain);
    this.refresh();
  }

  async #linkState(state) {
    if (state === "open") {
      banner("");
      await this.refresh();
      if (!this.conversation) await this.#fromAddress();
    } else if (state === "lost") {
      banner(
        navigator.onLine
          ? "The connection to osier is lost. Trying again…"
          : "You are offline. What is here can be read; osier goes on working.",
      );
    } else if (state === "denied" && byId("login").hidden) {
      this.link.stop();
      await askToken();
      this.link.start();
    }
  }
}

/** Whether the server knows us; throws when it cannot be reached. */
async function known() {
  try {
    await api.status();
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return false;
    throw error;
  }
}

const models = (conversation) => conversation.ask("get_available_models").then(({ models }) => models);

async function begin() {
  applyTheme();
  install();
  const token = tokenOfAddress();
  try {
    if (token) await api.login(token);
    else if (!(await known())) await askToken();
  } catch (error) {
    // Without the server the page begins all the same, and waits for it.
    if (error.status !== 0) await askToken("The address holds the token of another server.");
  }
  new Page().begin();
}

begin().catch(complain);
