// Numbers with units, and times in a readable form with the exact one beside it.

import { setAttribute, setText } from "./dom.js";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TENTH = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const NONE = "–";

const known = (value) => typeof value === "number" && Number.isFinite(value);

export const count = (value) => (known(value) ? WHOLE.format(value) : NONE);

export const compact = (value) =>
  !known(value) ? NONE : Math.abs(value) < 100_000 ? WHOLE.format(value) : COMPACT.format(value);

export function rate(value) {
  if (!known(value)) return NONE;
  if (value > 0 && value < 0.05) return "< 0.1";
  return value !== 0 && Math.abs(value) < 10 ? TENTH.format(value) : compact(value);
}

export function bytes(value) {
  if (!known(value)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit > 0 && size < 100 ? TENTH.format(size) : WHOLE.format(size)} ${units[unit]}`;
}

export function percent(value) {
  if (!known(value)) return NONE;
  if (value > 0 && value < 0.001) return "< 0.1%";
  if (value < 1 && value > 0.999) return "> 99.9%";
  const shown = value * 100;
  return `${shown < 10 && shown > 0 ? TENTH.format(shown) : WHOLE.format(shown)}%`;
}

export function plural(number, singular, many = `${singular}s`) {
  return `${count(number)} ${number === 1 ? singular : many}`;
}

export function duration(seconds) {
  if (!known(seconds)) return NONE;
  if (seconds > 0 && seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  const whole = Math.max(0, Math.round(seconds));
  if (seconds < 10 && seconds > 0 && whole !== seconds) return `${TENTH.format(seconds)} s`;
  const [days, hours, minutes] = [
    Math.floor(whole / 86400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days) return hours ? `${days} d ${hours} h` : `${days} d`;
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  if (minutes) return whole % 60 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  return `${whole} s`;
}

/** Messages and hints come without capitals and full stops: here they are sentences. */
export function sentences(...texts) {
  const ended = (text) => (/[.!?…]$/.test(text) ? text : `${text}.`);
  return texts
    .filter(Boolean)
    .map((text) => ended(text[0].toUpperCase() + text.slice(1)))
    .join(" ");
}

// ── times ──

const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?$/;

/** The time of an event: a date with a time of day (UTC), or the plain number or text that it is. */
export function eventTime(value) {
  if (value === null || value === undefined) return { date: "", text: NONE, exact: "" };
  const found = typeof value === "string" ? ISO.exec(value) : null;
  if (!found) return { date: "", text: typeof value === "number" ? String(value) : value, exact: String(value) };
  const [, date, minutes = "00:00", seconds = "00", fraction = ""] = found;
  const short = Number(fraction) ? Number(fraction).toFixed(3).slice(1) : "";
  return { date, text: `${date} ${minutes}:${seconds}${short}`, clock: `${minutes}:${seconds}${short}`, exact: value };
}

/** From one event's time to another's, the date only once. */
export function timeRange(start, end) {
  const [from, to] = [eventTime(start), eventTime(end)];
  if (from.exact === to.exact) return to.text;
  return `${from.text} → ${from.date && from.date === to.date ? to.clock : to.text}`;
}

/** A moment of the server's clock, in milliseconds: ISO text, or seconds since 1970. */
export function clockTime(value) {
  if (value === null || value === undefined) return null;
  const time = typeof value === "number" ? value * 1000 : Date.parse(value);
  return Number.isFinite(time) ? time : null;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const timeOfDay = (milliseconds) => CLOCK.format(milliseconds);

export const exactTime = (milliseconds) => new Date(milliseconds).toISOString();

export function ago(milliseconds, now) {
  const seconds = (now - milliseconds) / 1000;
  if (seconds < 1.5) return "now";
  if (seconds < 60) return `${Math.round(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

/** The readable form as text, the exact one on hover. */
export function setTime(element, text, exact) {
  setText(element, text);
  setAttribute(element, "title", exact || null);
  setAttribute(element, "datetime", /^\d{4}-\d\d-\d\dT/.test(exact) ? exact : null);
}

// ── values of events ──

export function valueText(value) {
  if (value === null || value === undefined) return "NULL";
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  if (typeof value === "object") return pairsText(value);
  return typeof value === "string" ? value : String(value);
}

export function pairsText(pairs) {
  return Object.entries(pairs ?? {})
    .map(([name, value]) => `${name} = ${valueText(value)}`)
    .join(", ");
}

export const keyText = (key) => (key && Object.keys(key).length ? pairsText(key) : "all events");

/** The values of a key alone: its names stand in the statement. */
export function keyValues(key) {
  const values = Object.values(key ?? {});
  return values.length ? values.map(valueText).join(" · ") : "all events";
}

export function horizonText(horizon) {
  if (horizon === null || horizon === undefined) return "";
  return typeof horizon === "number"
    ? `within ${plural(horizon, "event")}`
    : `within ${horizon.replace(/ EVENTS?$/, (unit) => unit.toLowerCase())}`;
}
