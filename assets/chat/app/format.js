// Formats numbers, times and names.

const number = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

export const tokens = (count) => number.format(count ?? 0);

/** US dollars; empty for zero. */
export function dollars(amount) {
  if (!amount) return "";
  if (amount < 0.005) return "<$0.01";
  return `$${amount < 100 ? amount.toFixed(2) : Math.round(amount)}`;
}

export function duration(milliseconds) {
  if (milliseconds < 950) return `${Math.max(1, Math.round(milliseconds))} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(count) {
  if (count < 1024) return `${count} B`;
  return count < 1048576 ? `${(count / 1024).toFixed(1)} KB` : `${(count / 1048576).toFixed(1)} MB`;
}

/** The time for today, the date for other days. */
export function when(milliseconds) {
  if (!milliseconds) return "";
  const date = new Date(milliseconds);
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : day.format(date);
}

/** The group of a time in the session list. */
export function period(milliseconds) {
  // A day of a change of the clock has 23 or 25 hours.
  const days = Math.round(
    (new Date().setHours(0, 0, 0, 0) - new Date(milliseconds).setHours(0, 0, 0, 0)) / 86400000,
  );
  if (days < 0) return day.format(new Date(milliseconds));
  if (days < 1) return "Today";
  if (days < 2) return "Yesterday";
  return days < 7 ? "This week" : "Earlier";
}

export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

/** The last part of a path. */
export const basename = (path) => (path ?? "").replace(/\/+$/, "").split("/").pop() || path || "";

/** The display name of a model; an id can be a path. */
export const modelName = (model) => (model.name && model.name !== model.id ? model.name : basename(model.id));

/** A path relative to `cwd` if it is below it. */
export function relative(path, cwd) {
  const base = `${(cwd ?? "").replace(/\/+$/, "")}/`;
  return cwd && path?.startsWith(base) ? path.slice(base.length) : (path ?? "");
}

/** Replaces each character that is invisible or moves other characters by a notation, so that the text shows all of a call. */
export const visible = (text) =>
  text.replace(/[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu, (char) =>
    char === "\r" ? "␍" : `\\u{${char.codePointAt(0).toString(16)}}`,
  );

/** The first line, shortened to `most` characters. */
export function line(text, most = 160) {
  const first = (text ?? "").trim().split("\n", 1)[0];
  return first.length > most ? `${first.slice(0, most - 1)}…` : first;
}
