// The entry point: connects the server, the current session and the views.

import { signIn } from "./accounts.js";
import { act, messageMenu } from "./actions.js";
import { ApiError, api, signInSecret } from "./api.js";
import { PresenceBar, otherWriter } from "./presence.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { byId, el, glyph } from "./dom.js";
import { Drawer } from "./drawer.js";
import { chooseFolder } from "./folders.js";
import { showFailure } from "./failure.js";
import { Fan } from "./fan.js";
import { dollars, duration, line, relative } from "./format.js";
import { Connection } from "./connection.js";
import { askToken, takeTokenFromUrl } from "./login.js";
import { askLine, askYes, openMenu } from "./menu.js";
import { chooseModel } from "./models.js";
import { MODES } from "./modes.js";
import { showPending } from "./pending.js";
import { Questions } from "./questions.js";
import { showRestored } from "./restore.js";
import { SessionList } from "./sessions.js";
import { banner, install, toggleSide, watchPanels } from "./shell.js";
import { slashCommand } from "./slash.js";
import { SubagentDialog } from "./subagents.js";
import { apply as applyTheme } from "./theme.js";
import { showError, toast } from "./toast.js";
import { Transcript } from "./transcript.js";

/** Interval for reading the session list while the page is visible, in milliseconds. */
const REFRESH = 5000;

class Page {
  conversation = null;
  /** Counts what the user chose to open: an older choice that is slow does not replace a newer one. */
  #choices = 0;

  constructor() {
    this.connection = new Connection(() => isSignedIn());
    this.composer = new Composer({
      send: (message) => this.send(message),
      stop: () => this.stop(),
      recall: () => this.recall().catch(showError),
      collapse: () => this.questions.collapse(),
      model: () => this.chooseModel(),
      mode: (anchor) => this.chooseMode(anchor),
    });
    this.transcript = new Transcript({
      act: (name, item, more) => act(name, item, this, more),
      menu: (item, anchor) => messageMenu(item, this, anchor),
    });
    this.questions = new Questions();
    this.lanes = new Fan();
    this.presence = new PresenceBar();
    this.sessions = new SessionList({
      open: (row, isOpen) => this.#openRow(row, isOpen),
      menu: (row, isOpen, anchor) => this.#rowMenu(row, isOpen, anchor),
    });
    this.drawer = new Drawer({
      connection: this.connection,
      developer: () => this.transcript.refresh(),
    });
    byId("new-session").addEventListener("click", ({ detail }) => detail < 2 && this.create().catch(showError));
    byId("new-elsewhere").append(glyph("folder"));
    byId("new-elsewhere").addEventListener("click", () => this.#createElsewhere().catch(showError));
    byId("find-session").addEventListener("input", ({ target }) => this.#search(target.value.trim()));
    byId("title").addEventListener("dblclick", () => this.rename());
    watchPanels(() => this.drawer.isOpen && this.drawer.toggle(false));
    this.connection.addEventListener("state", ({ detail }) => this.#onConnectionState(detail));
    addEventListener("popstate", () => this.#showFromUrl());
    setInterval(() => document.visibilityState === "visible" && this.refresh(), REFRESH);
    setInterval(() => this.#activity(), 1000);
  }

  start() {
    byId("app").hidden = false;
    this.connection.start();
    const isLate = () => {
      if (this.connection.connected) return;
      banner("Connecting to the server…");
      // Text that is typed meanwhile is the draft of the session in the URL.
      if (!this.conversation) this.composer.prepare(new URLSearchParams(location.search).get("session"));
    };
    setTimeout(isLate, 1500);
  }

  /** Reads the session list. */
  async refresh() {
    try {
      this.list = await api.sessions();
      this.sessions.show(this.list, this.#here);
      this.#find();
    } catch (error) {
      if (error.status === 401) this.#onConnectionState("denied");
    }
  }

  #search(words) {
    this.sessions.words = words;
    this.sessions.showFound(null, this.#here);
    clearTimeout(this.searching);
    this.searching = setTimeout(() => this.#find(), 150);
  }

  /** Reads the stored sessions with their marks; with words, only the sessions that contain the words. */
  async #find() {
    const { words } = this.sessions;
    const find = (inWords, more) =>
      this.conversation.ask("find_sessions", { query: { text: words, inWords, all: true, ...more } });
    if (!this.conversation) return;
    try {
      const found = await find(false);
      if (words === "archived:") Object.assign(found, await find(false, { text: "", archived: true }));
      else if (words.length > 2) {
        const known = new Set(found.sessions.map(({ session }) => session.id));
        const { sessions } = await find(true);
        found.sessions.push(...sessions.filter(({ session }) => !known.has(session.id)));
      }
      if (words === this.sessions.words) this.sessions.showFound(found, this.#here);
    } catch {
      // A newer query cancelled this one, or the list of the server remains.
    }
  }

  async #createElsewhere() {
    const rows = [...(this.list?.open ?? []), ...(this.list?.stored ?? [])];
    const recent = [...new Set(rows.map(({ cwd }) => cwd).filter(Boolean))].slice(0, 8);
    const cwd = await chooseFolder(recent, this.conversation?.facts.cwd);
    if (cwd) await this.create({ cwd });
  }

  /** The id of the current session. */
  get #here() {
    return this.conversation?.id;
  }

  async #showFromUrl() {
    const id = new URLSearchParams(location.search).get("session");
    const open = this.list?.open ?? [];
    const found = open.find((row) => row.id === id);
    if (found) return this.#show(found.id);
    if (id) return this.create({ session: id }).catch((error) => (showError(error), this.#showFirst(open)));
    return this.#showFirst(open);
  }

  #showFirst(open) {
    return open.length > 0 ? this.#show(open[0].id) : this.create().catch(showError);
  }

  async create(options = {}) {
    const choice = ++this.#choices;
    const { cwd } = this.conversation?.facts ?? {};
    const { id } = await api.openSession({ ...(cwd ? { cwd } : {}), ...options });
    if (choice === this.#choices) await this.#show(id);
    this.refresh();
  }

  async #openRow(row, isOpen) {
    toggleSide(false);
    try {
      if (isOpen || this.#here === row.id) await this.#show(row.id);
      else await this.create({ session: row.id });
    } catch (error) {
      showError(error);
    }
  }

  /** Shows a session. */
  async #show(id) {
    this.#choices++;
    if (this.conversation?.id === id) return;
    // Back returns to the session before.
    const isNext = this.conversation && new URLSearchParams(location.search).get("session") !== id;
    this.conversation?.close();
    const conversation = (this.conversation = new Conversation(this.connection, id));
    const on = (type, listener) =>
      conversation.addEventListener(type, ({ detail }) => this.conversation === conversation && listener(detail));
    on("status", () => this.#status());
    on("queue", () => (this.composer.showQueue(conversation.queue), showPending(conversation)));
    const asked = () => (this.questions.next(), this.#activity(), this.#liveState());
    on("question", asked);
    on("closed", asked);
    on("notice", ({ severity, text }) => toast(text, severity));
    on("settled", () => (this.drawer.update(), this.refresh()));
    on("unstored", ({ prompts }) => this.composer.putBack(prompts));
    on("switched", ({ id }) => this.#show(id).catch(showError));
    on("ended", () => {
      toast("This session was closed. It stays stored, and the next message opens it again.", "warning");
      this.refresh();
    });
    on("fan", () => this.lanes.update());
    on("subagent", ({ info }) => new SubagentDialog(conversation, info).open().catch(showError));
    on("presence", () => this.presence.update());
    on("servers", () => this.drawer.servers());
    on("restored", (restored) => showRestored(restored, conversation));
    this.composer.show(id);
    on("pending", () => (showPending(conversation), this.transcript.follow()));
    showPending(conversation);
    this.transcript.show(conversation);
    this.questions.show(conversation);
    this.lanes.show(conversation);
    this.presence.show(conversation);
    this.composer.showQueue(conversation.queue);
    history[isNext ? "pushState" : "replaceState"](null, "", `?session=${encodeURIComponent(id)}`);
    // Focus at once, so that typing before the session is loaded goes to the prompt.
    const hasKeyboard = matchMedia("(pointer: fine)").matches;
    if (hasKeyboard) this.composer.field.focus();
    await conversation.open();
    if (this.conversation !== conversation) return;
    this.composer.loaded(conversation);
    this.drawer.show(conversation);
    this.#status();
    this.sessions.draw(this.#here);
    // The field of the first session was disabled until now.
    if (hasKeyboard && document.activeElement === document.body) this.composer.field.focus();
  }

  #status() {
    const { conversation } = this;
    const { facts } = conversation;
    const rows = [...(this.list?.open ?? []), ...(this.list?.stored ?? [])];
    const first = conversation.atStart
      ? conversation.items.find((item) => item.role === "user")?.message.text
      : rows.find(({ id }) => id === conversation.id)?.firstPrompt;
    const name = facts.sessionName || line(first, 80) || "New session";
    byId("title").textContent = name;
    document.title = conversation.running ? `● ${name}` : `${name} · osier`;
    byId("subtitle").textContent = [relative(facts.cwd, null), facts.branch].filter(Boolean).join(" · ");
    byId("cost").textContent = dollars(facts.cost);
    this.composer.update(conversation);
    this.#activity();
    this.#failure();
    this.#liveState();
  }

  #liveState() {
    const { running, questions } = this.conversation;
    this.sessions.update(this.#here, questions.size > 0 ? "waiting" : running ? "working" : "idle");
  }

  /** The status line above the input field during a run. */
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
    const elapsed = Date.now() - this.since;
    node.querySelector(".state").textContent =
      `${conversation.questions.size > 0 ? "Waiting for your answer" : conversation.phase || "Working"}${elapsed > 3000 ? ` · ${duration(elapsed)}` : ""}`;
  }

  async send({ text, images, attachments, editing, followUp }) {
    const { conversation } = this;
    if (!this.connection.connected || !conversation)
      throw new Error("Not sent: cannot reach the server. Your message stays in the input field.");
    const isText = images.length === 0 && attachments.length === 0;
    const command = isText && !editing && slashCommand(text);
    if (command && (await conversation.after(() => command(this))) !== false) return;
    const writer = otherWriter(conversation);
    if (writer)
      throw Object.assign(new Error(`${writer.name} has control. Your message stays in the input field.`), {
        severity: "warning",
        action: { label: "Take control", press: () => this.presence.takeOver() },
      });
    if (editing && conversation.running) throw new Error("Stop the agent first, then send it again.");
    if (text.startsWith("!") && isText) {
      if (editing) await conversation.askOnce("move_to", { entryId: editing.entryId });
      const shell = { command: text.replace(/^!+/, "").trim(), excludeFromContext: text.startsWith("!!") };
      return conversation.after(() => conversation.askOnce("bash", shell));
    }
    await conversation.prompt({ text, images, attachments }, { edited: editing?.entryId, followUp });
  }

  /** The card of a failed run. */
  #failure() {
    const { conversation } = this;
    const again = () => conversation.ask("continue").catch(showError);
    showFailure(conversation, {
      retry: again,
      model: () => this.chooseModel(),
      signIn: async () => (await signIn(conversation, conversation.facts.model?.provider)) && again(),
    });
    this.transcript.follow();
  }

  chooseModel() {
    return chooseModel(this.conversation);
  }

  chooseMode(anchor = this.composer.mode) {
    const { conversation } = this;
    const current = conversation.facts.permissions;
    openMenu(
      "Permissions",
      MODES.map(([mode, label, note]) => ({
        icon: mode === current ? "check" : "blank",
        label,
        note,
        press: () => conversation.ask("set_permissions", { mode }).catch(showError),
      })),
      anchor,
    );
  }

  /** Stops the run. Queued messages were meant for it and return to the input field. */
  stop() {
    const { conversation } = this;
    if (!conversation) return;
    const { steering, followUp } = conversation.queue;
    if (steering.length + followUp.length > 0) this.recall().catch(showError);
    conversation.ask("abort").catch(showError);
  }

  /** Moves the queued messages back into the input field. */
  async recall() {
    const { steering, followUp } = await this.conversation.ask("clear_queue");
    this.conversation.forgetQueued();
    this.composer.putBack([...steering, ...followUp]);
  }

  /** Sends the last prompt to several models. */
  async fan() {
    await this.lanes.start(await models(this.conversation));
  }

  /** Forks a new session with the conversation up to a message. */
  async fork(item) {
    await this.copy("fork", { entryId: item.entryId });
    toast("Forked: this new session has a copy of the conversation up to that message.");
  }

  /** Stores a copy of the conversation and shows it. Its prompt returns to the input field. */
  async copy(command, parameters = {}) {
    const { session, prompt } = await this.conversation.ask(command, parameters);
    await this.create({ session });
    if (prompt && this.#here === session) this.composer.putBack([prompt]);
  }

  /** Renames the session of a row, else the current one. An open session stores its name itself. */
  async rename(row = null, isOpen = true) {
    const { conversation } = this;
    const isHere = !row || row.id === conversation.id;
    const name = await askLine("Rename session", (isHere ? conversation.facts.sessionName : row.name) ?? "");
    if (name === null) return;
    const rename = () => {
      if (isHere) return conversation.ask("set_session_name", { name });
      if (isOpen) return this.connection.command(row.id, { type: "set_session_name", name });
      return conversation.ask("name_session", { path: row.path, name });
    };
    await rename().then(() => this.refresh(), showError);
  }

  async #mark({ id }, mark, on) {
    await this.conversation.ask("mark_session", { session: id, mark, on }).then(() => this.refresh(), showError);
  }

  /** Exports the session to a file in its folder. */
  async export(options) {
    const { exported } = await this.conversation.ask("export_session", options);
    toast(`Exported to ${exported.path}`);
  }

  act(name, item) {
    act(name, item, this);
  }

  /** Pins or archives the current session. */
  mark(mark, on) {
    return this.#mark({ id: this.conversation.facts.sessionId }, mark, on);
  }

  closeCurrent() {
    return this.#close({ id: this.#here, state: this.conversation.running ? "working" : "idle" });
  }

  #rowMenu(row, isOpen, anchor) {
    const here = this.#here === row.id;
    openMenu(
      "Session",
      [
        (here || isOpen || row.path) && { icon: "name", label: "Rename", press: () => this.rename(row, isOpen) },
        { icon: "pin", label: row.pinned ? "Unpin" : "Pin", press: () => this.#mark(row, "pinned", !row.pinned) },
        !isOpen && {
          icon: "archive",
          label: row.archived ? "Restore from the archive" : "Archive",
          press: () => this.#mark(row, "archived", !row.archived),
        },
        here && { icon: "install", label: "Export as HTML", press: () => this.export({ format: "html" }).catch(showError) },
        here && { icon: "install", label: "Export as Markdown", press: () => this.export({ format: "markdown" }).catch(showError) },
        isOpen && { icon: "leave", label: "Close", press: () => this.#close(row) },
        !isOpen &&
          this.conversation && {
            icon: "trash",
            label: "Move to trash",
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
        "The agent is still running and will be stopped. The session stays stored.",
        "Close",
      ))
    )
      return;
    const isHere = this.#here === row.id;
    if (isHere) this.conversation.close();
    await api.closeSession(row.id).catch(showError);
    await this.refresh();
    if (!isHere) return;
    this.conversation = null;
    this.composer.show(null);
    this.transcript.show(null);
    await this.#showFirst(this.list?.open ?? []);
  }

  async #trash(row) {
    if (!(await askYes("Move this session to the trash?", line(row.name || row.firstPrompt, 200), "Move to trash")))
      return;
    await this.conversation.ask("delete_session", { path: row.path }).catch(showError);
    this.refresh();
  }

  async #onConnectionState(state) {
    if (this.conversation) showPending(this.conversation);
    if (state === "open") {
      banner("");
      await this.refresh();
      if (!this.conversation) await this.#showFromUrl();
    } else if (state === "lost") {
      banner(
        navigator.onLine
          ? "Connection lost. Reconnecting…"
          : "You are offline. You can read the conversation; osier continues to run.",
      );
    } else if (state === "denied" && byId("login").hidden) {
      this.connection.stop();
      await askToken();
      this.connection.start();
    }
  }
}

/** Whether the browser is signed in; throws when the server cannot be reached. */
async function isSignedIn() {
  try {
    await api.status();
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return false;
    throw error;
  }
}

const models = (conversation) => conversation.ask("get_available_models").then(({ models }) => models);

async function start() {
  applyTheme();
  install();
  const token = takeTokenFromUrl();
  try {
    if (token) await api.login(token);
    // A page that was signed in starts at once. If the server refuses it, it asks for the token.
    else if (!signInSecret() && !(await isSignedIn())) await askToken();
  } catch (error) {
    // Without the server, the page starts and waits for it.
    if (error.status === 401) await askToken("The URL contains the token of another server.");
    else if (error.status !== 0) await askToken(error.message);
  }
  new Page().start();
}

start().catch(showError);
