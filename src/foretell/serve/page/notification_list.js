// A list of notifications of bounded length. Rows are reused: a flood makes no new elements.

import { toast } from "./dialogs.js";
import { button, h, icon, setAttribute, setText } from "./dom.js";
import {
  clockTime,
  eventTime,
  exactTime,
  horizonText,
  keyText,
  keyValues,
  pairsText,
  percent,
  setTime,
  timeOfDay,
  timeRange,
  valueText,
} from "./format.js";

const SPARE_ROWS = 100;
export const KIND_NAMES = {
  match: "Match",
  forecast: "Forecast",
  estimate: "Estimate",
  confirmed: "Confirmed",
  withdrawn: "Withdrawn",
  token: "Token",
};

/** What tells this notification from others of its statement, in a line. */
function brief(row) {
  if (row.kind === "forecast") return horizonText(row.horizon);
  // The id of a match is the row of its FOR EACH table; that of an estimate says nothing to a reader.
  const hasReader = row.kind === "match" || row.kind === "token";
  const reader = hasReader && row.id !== null && row.id !== undefined ? `id = ${valueText(row.id)}` : "";
  return [reader, pairsText(row.bindings) || pairsText(row.events)].filter(Boolean).join(", ");
}

const isCertain = (row) => row.kind === "match" || row.kind === "token" || typeof row.probability !== "number";

class NotificationRow {
  constructor(list) {
    this.time = h("time", { class: "when" });
    this.kind = h("span", { class: "pill" });
    this.statement = h("span", { class: "statement-name" });
    this.key = h("span", { class: "key" });
    this.brief = h("span", { class: "brief" });
    this.probability = h("span", { class: "probability" });
    const parts = [icon("chevron"), this.time, this.kind, this.statement, this.key, this.brief, this.probability];
    this.summary = h("summary", { class: "row-line", tabindex: "-1" }, parts);
    this.body = h("div", { class: "row-body" });
    this.details = h("details", { on: { toggle: () => this.toggle() } }, this.summary, this.body);
    this.element = h("li", { class: "row" }, this.details);
    this.element.row_ = this;
    this.list = list;
  }

  show(row) {
    if (this.shown === row) return;
    this.shown = row;
    this.details.open = false;
    this.body.replaceChildren();
    const end = eventTime(row.end);
    setTime(this.time, end.text, end.exact);
    setText(this.kind, KIND_NAMES[row.kind] ?? row.kind);
    setAttribute(this.kind, "class", `pill kind-${row.kind in KIND_NAMES ? row.kind : "other"}`);
    setText(this.statement, row.subscription);
    setText(this.key, row.key ? keyValues(row.key) : "");
    setAttribute(this.key, "title", row.key ? keyText(row.key) : null);
    setText(this.brief, brief(row));
    setText(this.probability, isCertain(row) ? "" : percent(row.probability));
  }

  toggle() {
    if (this.details.open && !this.body.firstChild) this.body.append(detailList(this.shown), ...copyButton(this.shown));
    this.list.changed();
  }
}

const statementLink = (name) => h("a", { href: `#/statements/${encodeURIComponent(name)}`, text: name });

/** Everything that a notification says, as terms and descriptions. */
export function detailList(row) {
  const received = clockTime(row.received);
  const entries = [
    ["Statement", row.number === undefined ? row.subscription : statementLink(row.subscription)],
    ["Key", row.key ? keyText(row.key) : ""],
    ["Time", timeRange(row.start, row.end)],
    [
      "Received",
      received === null
        ? ""
        : h("time", { datetime: exactTime(received), title: exactTime(received), text: timeOfDay(received) }),
    ],
    ["Probability", isCertain(row) ? "" : `${percent(row.probability)} (${row.probability})`],
    ["Horizon", horizonText(row.horizon)],
    ["Id", row.id === null || row.id === undefined ? "" : valueText(row.id)],
    ["Values", pairsTable(row.bindings)],
    ["Events", pairsTable(row.events, row.step_times, row.estimate ? "lost, or no part of it" : "no part of it")],
    ["Rests on", estimateList(row.estimate)],
  ];
  const shown = entries.filter(([, content]) => content);
  return h(
    "dl",
    { class: "details" },
    shown.map(([term, content]) => [h("dt", { text: term }), h("dd", {}, content)]),
  );
}

/** Browsers permit the clipboard on secure pages only: https, and this machine. */
function copyButton(row) {
  if (!navigator.clipboard) return [];
  const { number, received, ...notification } = row;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(JSON.stringify(notification, null, 2));
      toast("The notification is copied as JSON.");
    } catch {
      toast("The browser does not permit copying.", "error");
    }
  };
  return [button("Copy as JSON", copy, { kind: "small" })];
}

function pairsTable(pairs, times = null, absent = "") {
  const entries = Object.entries(pairs ?? {});
  if (!entries.length) return "";
  const line = ([name, value]) => {
    const moment = times?.[name];
    const at =
      moment === null || moment === undefined
        ? null
        : h("span", { class: "muted", text: ` at ${valueText([moment].flat().map((time) => eventTime(time).text))}` });
    return h("li", {}, h("b", { text: name }), ` ${value === null && absent ? absent : valueText(value)}`, at);
  };
  return h("ul", { class: "pairs" }, entries.map(line));
}

function estimateList(estimate) {
  if (!estimate) return "";
  const lost = (estimate.lost ?? []).map(({ step, low, high }) =>
    h("li", {}, h("b", { text: step }), ` was lost, 80% between ${eventTime(low).text} and ${eventTime(high).text}`),
  );
  const gaps = (estimate.gaps ?? []).map(({ after, before, factor }) =>
    h(
      "li",
      {},
      `gap ${after ? `after ${after}` : "from the window's start"} ${before ? `before ${before}` : "to its end"}: × ${percent(factor)}`,
    ),
  );
  return h("ul", { class: "pairs" }, lost, gaps);
}

export class NotificationList {
  constructor({ label, changed = () => {} }) {
    this.changed = changed;
    this.element = h("ol", {
      class: "rows",
      "aria-label": label,
      on: { keydown: (event) => this.move(event), focusin: (event) => this.rove(event) },
    });
    this.rows = new Map();
    this.spare = [];
  }

  /** Whether someone reads in it: an open row, or the focus of the keyboard. */
  get inUse() {
    return (
      this.element.querySelector("details[open]") !== null || this.element.querySelector(":focus-visible") !== null
    );
  }

  /** Shows these notifications, in this order; new ones light up unless there are many. */
  show(notifications, identity = (row) => row.number) {
    const wanted = new Map(notifications.map((row) => [identity(row), row]));
    for (const [name, row] of this.rows)
      if (!wanted.has(name)) {
        this.rows.delete(name);
        row.element.remove();
        this.spare.push(row);
      }
    const fresh = wanted.size - this.rows.size;
    let place = this.element.firstElementChild;
    const light = this.rows.size > 0 && fresh <= 5;
    for (const [name, notification] of wanted) {
      let row = this.rows.get(name);
      if (!row) {
        row = this.spare.pop() ?? new NotificationRow(this);
        this.rows.set(name, row);
        row.show(notification);
        this.light(row, light);
      }
      if (row.element === place) place = place.nextElementSibling;
      else this.element.insertBefore(row.element, place);
    }
    this.spare.length = Math.min(this.spare.length, SPARE_ROWS);
    if (!this.element.querySelector('summary[tabindex="0"]'))
      this.element.querySelector("summary")?.setAttribute("tabindex", "0");
  }

  light({ element }, lit) {
    element.classList.remove("fresh");
    if (lit) requestAnimationFrame(() => element.classList.add("fresh"));
  }

  rove({ target }) {
    if (!target.matches("summary")) return;
    for (const other of this.element.querySelectorAll('summary[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    target.setAttribute("tabindex", "0");
  }

  move(event) {
    const row = event.target.closest?.("li.row");
    if (!row || !event.target.matches("summary")) return;
    const moves = {
      ArrowDown: row.nextElementSibling,
      ArrowUp: row.previousElementSibling,
      Home: this.element.firstElementChild,
      End: this.element.lastElementChild,
    };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    next?.querySelector("summary").focus();
  }
}
