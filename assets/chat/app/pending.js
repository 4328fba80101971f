// Sent messages that are not in the conversation yet, below the last message.

import { byId, el } from "./dom.js";

export function showPending(conversation) {
  const node = byId("pending");
  const prompts = conversation.notQueued();
  const state = conversation.connection.connected ? "Sending…" : "Waits for the connection";
  node.hidden = prompts.length === 0;
  node.replaceChildren(
    ...prompts.map(({ text }) =>
      el(
        "div",
        { class: "message user unsent" },
        el("div", { class: "prompt-text" }, text || "Image"),
        el("small", { role: "status" }, state),
      ),
    ),
  );
}
