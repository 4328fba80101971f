// The facts of a subagent in one line: in the row of its call, and above its conversation.

import { dollars, duration, line, tokens } from "./format.js";

const ACTIVE = ["waiting", "running", "asks"];

export const isActive = ({ status }) => ACTIVE.includes(status);

/** The state, work, tokens, cost and age of a subagent; the work in at most so many characters. */
export function subagentFacts(info, characters = 100) {
  const age = isActive(info) ? Date.now() - info.since : info.duration;
  return [
    info.status,
    line(info.activity, characters),
    info.background && "in the background",
    info.tokens && `${tokens(info.tokens)} tokens`,
    dollars(info.cost),
    duration(age),
  ].filter(Boolean);
}
