// A form for a flat JSON schema, such as that of an MCP elicitation.

import { el } from "./dom.js";

/** `{name, node, read}` for each property; `read()` returns `undefined` for an empty field. */
export function fields(schema) {
  const needed = new Set(schema?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, property]) =>
    field(name, property, needed.has(name)),
  );
}

export function values(fields) {
  const entries = fields.map(({ name, read }) => [name, read()]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function field(name, property, needed) {
  const title = property.title ?? name;
  const [input, read] = control(property, needed);
  if (needed && input.type !== "checkbox") input.required = true;
  const node = el(
    "label",
    { class: "field" },
    el("span", {}, needed ? title : `${title} (optional)`),
    input,
    property.description && el("span", {}, property.description),
  );
  return { name, node, read };
}

/** The control of a property and how its value is read. */
function control(property, needed) {
  const { type, default: preset } = property;
  const several = choices(property.items ?? {});
  if (several) {
    const select = el(
      "select",
      { multiple: true },
      several.map(([value, label]) => el("option", { value }, label ?? value)),
    );
    for (const option of select.options) option.selected = preset?.includes?.(option.value) ?? false;
    const chosen = () => [...select.selectedOptions].map(({ value }) => value);
    return [select, () => (select.selectedOptions.length || needed ? chosen() : undefined)];
  }
  const options = choices(property);
  if (options) {
    const select = el(
      "select",
      {},
      needed ? [] : el("option", { value: "" }, "—"),
      options.map(([value, label]) => el("option", { value }, label ?? value)),
    );
    if (preset !== undefined) select.value = preset;
    return [select, () => select.value || undefined];
  }
  if (type === "boolean") {
    const box = el("input", { type: "checkbox", checked: Boolean(preset) });
    return [box, () => box.checked];
  }
  if (type === "number" || type === "integer") {
    const input = el("input", {
      type: "number",
      step: type === "integer" ? "1" : "any",
      min: property.minimum,
      max: property.maximum,
      value: preset ?? "",
    });
    return [input, () => (input.value === "" ? undefined : Number(input.value))];
  }
  const input = el("input", {
    type: property.format === "uri" ? "url" : "text",
    value: preset ?? "",
    minlength: property.minLength,
    maxlength: property.maxLength,
  });
  return [input, () => (input.value === "" && !needed ? undefined : input.value)];
}

/** The values and labels to choose from, if there are any. */
function choices({ enum: allowed, enumNames = [], oneOf, anyOf }) {
  return (
    (oneOf ?? anyOf)?.map(({ const: value, title }) => [value, title]) ??
    allowed?.map((value, place) => [value, enumNames[place] ?? value])
  );
}
