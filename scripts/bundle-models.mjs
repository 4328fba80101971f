// Writes src/llm/catalogue/bundled.json from the data of the npm package `@earendil-works/pi-ai`.
//
//   npm pack @earendil-works/pi-ai && tar xzf earendil-works-pi-ai-*.tgz
//   node scripts/bundle-models.mjs package > src/llm/catalogue/bundled.json
//
// Only facts are taken: ids, windows, limits, prices, levels. The order below is the order of preference.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = process.argv[2];
const version = JSON.parse(readFileSync(join(root, "package.json"))).version;
const date = process.argv[3] ?? new Date().toISOString().slice(0, 10);

const WANTED = {
  anthropic: ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2", "claude-opus-5", "claude-sonnet-5", "claude-opus-4-8", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-sonnet-4-5"],
  openai: ["gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-luna", "gpt-6-astra", "gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.2", "gpt-4.1"],
  google: ["gemini-4-argon", "gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-3.5-flash-lite", "gemini-2.5-pro", "gemini-2.5-flash"],
  openrouter: ["anthropic/claude-opus-5.5", "anthropic/claude-sonnet-5.5", "openai/gpt-6.1-sol", "google/gemini-4-argon", "google/gemini-3.8-flash", "deepseek/deepseek-v4.1-flash", "deepseek/deepseek-v4-pro-0813", "moonshotai/kimi-k3", "moonshotai/kimi-k3.1-pro", "z-ai/glm-5.3", "qwen/qwen3.7-max", "openai/gpt-oss-120b"],
  deepseek: ["deepseek-v4-pro", "deepseek-flash"],
  mistral: ["mistral-large-4", "devstral-latest", "mistral-medium-latest", "mistral-small-latest", "codestral-latest"],
  xai: ["grok-4.7", "grok-4.5", "grok-4.3"],
  groq: ["openai/gpt-oss-120b", "qwen/qwen3.8-27b", "openai/gpt-oss-20b"],
  cerebras: ["qwen-3.8-27b", "gpt-oss-120b"],
  together: ["moonshotai/Kimi-K3.1-Pro", "zai-org/GLM-5.3", "deepseek-ai/DeepSeek-V4-Pro-0813", "Qwen/Qwen3.7-Max", "openai/gpt-oss-120b"],
};
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
// Cannot be told not to think, whatever the data leaves out.
const NEVER_OFF = new Set(["gemini-2.5-pro"]);
const BY_DEFAULT = new Set(LEVELS.slice(0, 5));

function levels(model) {
  if (!model.reasoning) return ["off"];
  const map = model.thinkingLevelMap ?? {};
  const has = (level) => (level in map ? map[level] !== null : BY_DEFAULT.has(level));
  const effort = model.compat?.forceAdaptiveThinking;
  return LEVELS.filter((level) => has(level) && !(level === "off" && NEVER_OFF.has(model.id)) && !(effort && level === "minimal"));
}

function compat(provider, model) {
  const told = model.compat ?? {};
  const compat = {};
  if (told.forceAdaptiveThinking && provider === "anthropic") compat.adaptiveThinking = true;
  if (provider === "openrouter" && model.id.startsWith("anthropic/")) compat.cacheControl = true;
  if (provider === "openrouter" && told.requiresReasoningContentOnAssistantMessages) compat.replayReasoningField = "reasoning";
  if (provider === "together" && told.thinkingFormat === "openai") compat.thinkingFormat = "effort";
  return Object.keys(compat).length ? { compat } : {};
}

const models = {};
for (const [provider, wanted] of Object.entries(WANTED)) {
  const data = JSON.parse(readFileSync(join(root, "dist/providers/data", `${provider}.json`)));
  const all = Object.values(data).flatMap((kind) => Object.values(kind)).filter((model) => model.type === "chat");
  models[provider] = wanted.flatMap((id) => {
    const model = all.find((model) => model.id === id);
    if (!model) {
      console.error(`not published: ${provider}/${id}`);
      return [];
    }
    const { input, output, cacheRead, cacheWrite } = model.cost;
    return [{
      id,
      name: model.name,
      contextWindow: model.contextWindow,
      maxTokens: Math.min(model.maxTokens, model.contextWindow / 2),
      thinkingLevels: levels(model),
      input: model.input,
      cost: { input, output, cacheRead, cacheWrite },
      ...compat(provider, model),
    }];
  });
}
const lines = Object.entries(models).map(([provider, list]) =>
  `    ${JSON.stringify(provider)}: [\n${list.map((model) => `      ${JSON.stringify(model)}`).join(",\n")}\n    ]`);
const notice = `Facts from npm @earendil-works/pi-ai ${version} (MIT, Mario Zechner), taken ${date}; prices in US dollars per million tokens`;
console.log(`{\n  "notice": ${JSON.stringify(notice)},\n  "models": {\n${lines.join(",\n")}\n  }\n}`);
