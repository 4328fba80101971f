// Generate crates/llm/src/catalogue/bundled.txt from the data of the npm package `@earendil-works/pi-ai` (MIT).
//
//   npm pack @earendil-works/pi-ai@1.6.0 && tar xzf earendil-works-pi-ai-*.tgz
//   node scripts/bundle-models.mjs package [DATE] > crates/llm/src/catalogue/bundled.txt
//
// The script copies only facts: ids, context windows, limits, prices, thinking levels and the quirks of servers.
// crates/llm/src/catalogue/bundled.rs describes the format, and providers.json there has the providers. The preferred
// models of a provider come first, in order; the others follow, newest names first.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = process.argv[2];
const version = JSON.parse(readFileSync(join(root, "package.json"))).version;
const date = process.argv[3] ?? new Date().toISOString().slice(0, 10);

const CHAT = "openai-chat-completions";
const APIS = {
  "openai-completions": CHAT,
  "mistral-conversations": CHAT,
  "openai-responses": "openai-responses",
  "azure-openai-responses": "openai-responses",
  "anthropic-messages": "anthropic-messages",
  "google-generative-ai": "google-generative-ai",
  "google-vertex": "google-generative-ai",
  "bedrock-converse-stream": "bedrock-converse",
};

// recipe: a provider, 2: run it, if the package has models of the provider
const providers = new URL("../crates/llm/src/catalogue/providers.json", import.meta.url);

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const BY_DEFAULT = new Set(LEVELS.slice(0, 5));
// Models that cannot disable thinking, even if the data does not say so.
const NEVER_OFF = /gemini-2\.5-pro|gemini-2\.5-computer/;
// Models that do not support conversations with tools.
const UNFIT = /^deep-research/;
const FORMATS = { openai: "effort", openrouter: "openrouter", deepseek: "thinking", zai: "thinking", qwen: "enable-thinking", together: "reasoning-enabled", baseten: "none", "ant-ling": "none" };
const CLAUDE = /anthropic\.claude/;
// Models of Bedrock whose thinking is bound to the conversation; the partition of the US government rejects the control.
const BOUND = /^(?!us-gov\.).*claude-((fable|mythos)-5-[1-9]|(opus|sonnet|haiku)-5-5)/;
const SIGNING = /gemini-([3-9]|flash|pro)/;

function levels(model, compat) {
  const map = model.thinkingLevelMap ?? {};
  // On Bedrock only the models of Anthropic support thinking levels.
  if (model.provider === "amazon-bedrock" && !CLAUDE.test(model.id)) return [0];
  if (!model.reasoning || (model.compat?.supportsReasoningEffort === false && model.api === "openai-responses")) return [0];
  const adaptive = compat.adaptiveThinking;
  const has = (level) => (level in map ? map[level] !== null : BY_DEFAULT.has(level));
  return LEVELS.flatMap((level, index) => {
    // An alias of `low`.
    const doubled = level === "minimal" && (adaptive || map.minimal === "low");
    return has(level) && !doubled && !(index === 0 && NEVER_OFF.test(model.id)) ? [index] : [];
  });
}

function effortNames(model) {
  const names = {};
  for (const [level, name] of Object.entries(model.thinkingLevelMap ?? {})) {
    const expected = level === "off" ? "none" : level;
    if (typeof name === "string" && name !== expected && !(level === "minimal" && name === "low")) names[level] = name;
  }
  return Object.keys(names).length ? { effortNames: names } : {};
}

function chatCompat(provider, model, modelCompat) {
  const compat = {};
  if (modelCompat.maxTokensField === "max_tokens") compat.maxTokensField = true;
  if (model.reasoning) {
    const fallback = modelCompat.supportsReasoningEffort === false ? "none" : "effort";
    compat.thinkingFormat = FORMATS[modelCompat.thinkingFormat] ?? fallback;
    if (provider === "mistral" && !model.thinkingLevelMap) compat.thinkingFormat = "prompt-mode";
    if (modelCompat.thinkingFormat === "openai" && modelCompat.supportsReasoningEffort === false) compat.thinkingFormat = "none";
    if (compat.thinkingFormat === "effort") {
      Object.assign(compat, effortNames(model));
      if (!("off" in (model.thinkingLevelMap ?? {}))) compat.silentOff = true;
    }
  }
  if (modelCompat.requiresReasoningContentOnAssistantMessages) compat.replayReasoningField = provider === "openrouter" ? "reasoning" : "reasoning_content";
  if (modelCompat.cacheControlFormat === "anthropic") compat.cacheControl = true;
  if (modelCompat.zaiToolStream) compat.extraBody = { tool_stream: true };
  if (modelCompat.sendSessionAffinityHeaders) compat.sessionHeader = "x-session-affinity";
  return compat;
}

function compatOf(provider, model) {
  const modelCompat = model.compat ?? {};
  switch (APIS[model.api]) {
    case CHAT:
      return chatCompat(provider, model, modelCompat);
    case "openai-responses": {
      const silent = model.reasoning && !("off" in (model.thinkingLevelMap ?? {}));
      return { ...effortNames(model), ...(silent ? { silentOff: true } : {}) };
    }
    case "anthropic-messages":
      return {
        ...(modelCompat.forceAdaptiveThinking ? { adaptiveThinking: true } : {}),
        // The models that accept efforts in a conversation accept bound thinking, too.
        ...(modelCompat.supportsMidConvoEffort ? { boundThinking: true } : {}),
        ...(modelCompat.supportsCacheControlOnTools === false ? { noCacheControl: true } : {}),
        ...(modelCompat.sendSessionAffinityHeaders ? { sessionHeader: "x-session-affinity" } : {}),
        // The gateways of these providers accept the key in the same header as for the other formats.
        ...(["openrouter", "github-copilot"].includes(provider) ? { keyHeader: "bearer" } : {}),
      };
    case "bedrock-converse": {
      const adaptive = model.thinkingLevelMap?.max ? { adaptiveThinking: true } : { thinkingBudget: true };
      const bound = BOUND.test(model.id) ? { boundThinking: true } : {};
      if (CLAUDE.test(model.id)) return { ...(model.reasoning ? adaptive : {}), ...bound, cacheControl: true };
      // These servers reject cache markers on tools and on tool results.
      return /amazon\.nova/.test(model.id) ? { cacheControl: true, unmarkedTools: true } : {};
    }
    default:
      return {
        ...(model.thinkingLevelMap ? {} : { thinkingBudget: true }),
        ...(SIGNING.test(model.id) ? { signedCalls: true, imagesInResults: true } : {}),
      };
  }
}

const compats = [];
function shared(list, value) {
  const text = JSON.stringify(value);
  if (text === "{}") return "";
  const at = list.indexOf(text);
  return at < 0 ? list.push(text) - 1 : at;
}

const prices = ({ input, output, cacheRead, cacheWrite }) => [input, output, cacheRead, cacheWrite].map((price) => +price.toFixed(6)).join(" ");

function row(provider, model, endpoint) {
  const compat = compatOf(provider, model);
  const tiers = (model.cost.tiers ?? []).map((tier) => `|${tier.inputTokensAbove} ${prices(tier)}`).join("");
  return [
    model.id,
    model.name === model.id ? "" : model.name,
    endpoint,
    model.contextWindow,
    Math.floor(Math.min(model.maxTokens, model.contextWindow / 2)),
    levels(model, compat).join(""),
    model.input.includes("image") ? "i" : "",
    prices(model.cost) + tiers,
    shared(compats, compat),
  ].join("\t");
}

const newestFirst = (one, other) => other.id.localeCompare(one.id, "en", { numeric: true });

let count = 0;
const rows = JSON.parse(readFileSync(providers)).filter(({ source }) => source);
const sections = rows.map(({ name: provider, api, source: { file, preferred = [], except = "^$" } }) => {
  const data = JSON.parse(readFileSync(join(root, "dist/providers/data", `${file}.json`)));
  const kinds = Object.values(data).flatMap((kind) => Object.values(kind));
  const all = kinds.filter((model) => model.type === "chat" && APIS[model.api] && !UNFIT.test(model.id) && !new RegExp(except).test(model.id));
  const rank = (model) => (preferred.includes(model.id) ? preferred.indexOf(model.id) : preferred.length);
  const sorted = all.sort(newestFirst).sort((one, other) => rank(one) - rank(other));
  const unique = sorted.filter((model, at) => sorted.findIndex((other) => other.id === model.id) === at);
  for (const id of preferred) if (!unique.some((model) => model.id === id)) console.error(`not published: ${provider}/${id}`);
  const own = unique.find((model) => APIS[model.api] === api)?.baseUrl;
  const endpoints = [];
  const rows = unique.map((model) => {
    const other = APIS[model.api] !== api;
    // The user chooses the region.
    const place = model.baseUrl === own || provider === "bedrock" ? "" : model.baseUrl;
    return row(provider, model, other || place ? shared(endpoints, [APIS[model.api], place]) : "");
  });
  count += rows.length;
  const named = endpoints.map((endpoint) => `=${JSON.parse(endpoint).join(" ").trim()}`);
  return [`[${provider}]`, ...named, ...rows].join("\n");
});
const notice = [
  `# ${count} models. Facts from npm @earendil-works/pi-ai ${version} (MIT, Mario Zechner), which derives them in part from`,
  `# models.dev (MIT, models.dev); taken ${date}. Prices in US dollars per million tokens. See NOTICE.md.`,
];
console.log([...notice, ...compats.map((compat) => `@${compat}`), ...sections].join("\n"));
