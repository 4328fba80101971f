// Sent messages that are not in the conversation yet, below the last message.

import { byId, el } from "./dom.js";

export function showPending(conversation) {
  const node = byId("pending");
  const queued = [...conversation.queue.steering, ...conversation.queue.followUp].map(({ text }) => text);
  const texts = conversation.unconfirmed.filter((text) => !queued.includes(text));
  node.hidden = texts.length === 0;
  node.replaceChildren(
    ...texts.map((text) =>
      el(
        "div",
        { class: "message user unsent" },
        el("div", { class: "prompt-text" }, text || "Image"),
        el("small", { role: "status" }, "Sending…"),
      ),
    ),
  );
}
