// The colour theme: light, dark or that of the system. Stored in this browser.

const KEY = "osier.theme";
export const THEMES = [
  ["system", "System", "system"],
  ["light", "Light", "sun"],
  ["dark", "Dark", "moon"],
];

export const theme = () => localStorage.getItem(KEY) ?? "system";

export function setTheme(name) {
  if (name === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, name);
  apply();
}

export function apply() {
  const name = theme();
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  const ground = getComputedStyle(document.documentElement).getPropertyValue("--ground").trim();
  document.querySelectorAll('meta[name="theme-color"]').forEach((meta) => {
    if (name !== "system") meta.content = ground;
  });
}
