// The dialog of `/usage`: cost and tokens by model, by day and by tool.

import { el } from "./dom.js";
import { plural, tokens } from "./format.js";
import { showError } from "./toast.js";

const SCOPES = [
  ["session", "This session"],
  ["all", "All sessions"],
];
const PERIODS = [
  ["today", "Today"],
  ["week", "Last 7 days"],
  ["month", "Last 30 days"],
  ["always", "All time"],
];

const money = (amount) => `$${amount.toFixed(3)}`;
const input = (usage) => usage.input + usage.cacheWrite;

/** The cost for a column: `plan` if a subscription paid, `?` without a known price. */
function costCell(usage) {
  if (usage.cost > 0) return money(usage.cost);
  if (usage.subscription) return "plan";
  return usage.unpriced ? "?" : "$0";
}

/** The cost in words, and what has no price. */
function costWords(total) {
  const words = [];
  if (total.cost > 0) words.push(money(total.cost));
  if (total.subscription) words.push("a subscription");
  if (total.unpriced)
    words.push(
      words.length
        ? plural(total.unpriced, "call without a known price", "calls without a known price")
        : "not known: the models have no price",
    );
  return words.join(" and ") || "$0";
}

function table(name, columns, rows) {
  if (!rows.length) return "";
  const cell = (tag, text, place) => el(tag, place ? { class: "number" } : { scope: tag === "th" ? "col" : undefined }, text);
  return el(
    "table",
    { class: "usage" },
    el("thead", {}, el("tr", {}, ...[name, ...columns].map((text, place) => cell("th", text, place)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((text, place) => cell("td", text, place))))),
  );
}

function contents({ scope, period, sessions, total, models, days, tools, complete }) {
  if (!total.calls && !tools.length) {
    const where = scope === "all" ? "No stored session has model calls yet." : "No model calls in this session yet.";
    return [el("p", { class: "hint" }, period === "always" ? where : "No model calls in this period.")];
  }
  const read = total.cacheRead + input(total);
  const facts = [
    ["Cost", costWords(total)],
    [
      "Cache",
      total.saved > 0
        ? `${money(total.saved)} saved at list prices`
        : total.cacheRead
          ? `${tokens(total.cacheRead)} tokens read; the saving is not known`
          : "nothing read from cache",
    ],
    [
      "Tokens",
      `${tokens(input(total))} input, ${tokens(total.output)} output, ${tokens(total.cacheRead)} cached` +
        (total.cacheRead ? ` (${Math.round((total.cacheRead / read) * 100)}% of the input)` : ""),
    ],
    [
      "Calls",
      [
        plural(total.calls, "model call") + (total.failures ? ` (${total.failures} failed)` : ""),
        plural(tools.reduce((sum, { calls }) => sum + calls, 0), "tool call") +
          (scope === "all" ? ` in ${plural(sessions, "session")}` : ""),
      ].join(", "),
    ],
  ];
  const columns = ["calls", "input", "output", "cached", "saved", "cost"];
  const row = (name, usage) => [
    name,
    String(usage.calls),
    tokens(input(usage)),
    tokens(usage.output),
    tokens(usage.cacheRead),
    usage.saved > 0 ? money(usage.saved) : "-",
    costCell(usage),
  ];
  return [
    el("dl", { class: "facts" }, ...facts.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
    complete ? "" : el("p", { class: "hint" }, "Some sessions are still being indexed: the numbers grow."),
    table("Models", columns, models.map((usage) => row(usage.model, usage))),
    table("Days", columns, days.map((usage) => row(usage.day || "unknown", usage))),
    table("Tools", ["calls", "failed"], tools.map(({ tool, calls, failures }) => [tool, String(calls), String(failures || "-")])),
  ];
}

/** Opens the dialog with the usage of the session of `conversation`. The argument has the words of the command. */
export function showUsage(conversation, argument = "") {
  const words = argument.split(/\s+/).filter(Boolean);
  const known = [...SCOPES, ...PERIODS].map(([name]) => name);
  const odd = words.find((word) => !known.includes(word));
  if (odd) throw new Error(`unknown period \`${odd}\`; expected one of \`${known.join("`, `")}\``);
  const select = (label, options) =>
    el(
      "select",
      { "aria-label": label },
      ...options.map(([value, text]) => el("option", { value }, text)),
    );
  const scope = select("Sessions", SCOPES);
  const period = select("Period", PERIODS);
  scope.value = words.findLast((word) => SCOPES.some(([name]) => name === word)) ?? "session";
  period.value = words.findLast((word) => PERIODS.some(([name]) => name === word)) ?? "always";
  const body = el("div", { class: "content", tabindex: "0", role: "region", "aria-label": "Usage" });
  const close = el("button", { class: "primary", type: "button", on: { click: () => dialog.close() } }, "Close");
  const dialog = el(
    "dialog",
    { class: "question board usage", "aria-label": "Usage" },
    el(
      "form",
      { method: "dialog" },
      el("header", {}, el("h2", {}, "Usage"), el("div", { class: "choices" }, scope, period)),
      body,
      el("footer", {}, el("div", { class: "choices" }, close)),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  const load = async () => {
    const wanted = { scope: scope.value, period: period.value };
    const { report } = await conversation.ask("get_usage_report", wanted);
    // The newest choice counts.
    if (report.scope === scope.value && report.period === period.value) body.replaceChildren(...contents(report));
  };
  for (const field of [scope, period]) field.addEventListener("change", () => load().catch(showError));
  document.body.append(dialog);
  dialog.showModal();
  load().catch((error) => (dialog.close(), showError(error)));
}
