// The table of statements, in the overview and in its own view.

import { emptyState, h } from "./dom.js";
import { bytes, compact, count, eventTime, rate } from "./format.js";
import { dataTable } from "./table.js";

const KINDS = { subscribe: "SUBSCRIBE", correlate: "CORRELATE", template: "FOR EACH" };
const COUNTED = [
  ["match", "Matches"],
  ["forecast", "Forecasts"],
  ["estimate", "Estimates"],
  ["confirmed", "Confirmed"],
  ["withdrawn", "Withdrawn"],
  ["token", "Tokens"],
];

const PLURALS = { match: "matches", forecast: "forecasts", estimate: "estimates", token: "tokens" };

/** How many notifications of a kind: “1 match”, “3 matches”. */
export const counted = (number, kind) => `${count(number)} ${number === 1 ? kind : (PLURALS[kind] ?? kind)}`;

export const statementAddress = (name) => `#/statements/${encodeURIComponent(name)}`;

export const kindText = (statement) => KINDS[statement.kind] ?? statement.kind;

/** How a statement is, in a few words; `warning` where somebody should look. */
export function condition(statement) {
  if (statement.stopped_lanes > 0) return { text: `${count(statement.stopped_lanes)} lanes stopped`, kind: "warning" };
  const total = Object.values(statement.counts).reduce((sum, each) => sum + each, 0);
  if (statement.per_minute > 0) return { text: "Active", kind: "ok" };
  return total ? { text: "Quiet", kind: "quiet" } : { text: "Nothing yet", kind: "quiet" };
}

function conditionMark(statement) {
  const { text, kind } = condition(statement);
  return h("span", { class: `condition ${kind}` }, h("span", { class: "dot", "aria-hidden": "true" }), text);
}

export function statementTable() {
  const marks = new Map();
  const markOf = (statement) => {
    const { text } = condition(statement);
    const known = marks.get(statement.name);
    if (known?.textContent === text) return known;
    const mark = conditionMark(statement);
    marks.set(statement.name, mark);
    return mark;
  };
  const counts = COUNTED.map(([kind, label]) => ({
    id: kind,
    label,
    numeric: true,
    render: (statement) => compact(statement.counts[kind] ?? 0),
    title: (statement) => count(statement.counts[kind] ?? 0),
    hidden: (statements) => kind !== "match" && statements.every((statement) => !statement.counts[kind]),
  }));
  const unknown = (name) => (statements) => statements.every((statement) => statement[name] === null);
  const last = (statement) => eventTime(statement.last_at);
  return dataTable({
    label: "Statements",
    key: ({ name }) => name,
    empty: emptyState("No statements yet.", "Add one under Statements; it begins with the next event."),
    columns: [
      { id: "name", label: "Statement", render: ({ name }) => name, link: ({ name }) => statementAddress(name) },
      { id: "condition", label: "State", render: markOf },
      { id: "rate", label: "Per minute", numeric: true, render: (statement) => rate(statement.per_minute) },
      ...counts,
      {
        id: "partial",
        label: "Partial matches",
        numeric: true,
        render: (statement) => compact(statement.partial_matches),
        hidden: unknown("partial_matches"),
      },
      { id: "lanes", label: "Lanes", numeric: true, render: ({ lanes }) => compact(lanes), hidden: unknown("lanes") },
      {
        id: "memory",
        label: "Memory",
        numeric: true,
        render: (statement) => bytes(statement.state_bytes),
        hidden: unknown("state_bytes"),
      },
      {
        id: "latest",
        label: "Latest (UTC)",
        render: (statement) => last(statement).text,
        title: (statement) => last(statement).exact || null,
      },
    ],
  });
}
