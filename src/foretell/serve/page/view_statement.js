// One statement: its text, figures, automaton, partial matches, forecasts and latest notifications.

import { api } from "./api.js";
import { AutomatonPicture } from "./automaton.js";
import { confirmed, toast } from "./dialogs.js";
import { button, emptyState, h, section, setAttribute, setText } from "./dom.js";
import { forecastCards } from "./forecast_cards.js";
import { bytes, compact, count, eventTime, keyText, pairsText, plural, rate, sentences, setTime } from "./format.js";
import { codeBlock } from "./highlight.js";
import { NotificationList } from "./notification_list.js";
import { condition, counted, kindText } from "./statement_table.js";
import { dataTable } from "./table.js";

const REFRESH_MILLISECONDS = 2000;
const PARTIAL_MATCHES = 50;
const LATEST = 10;
const CARDS = 12;

function figure(label) {
  const value = h("dd");
  return { element: h("div", { class: "figure" }, h("dt", { text: label }), value), value };
}

function partialMatchTable(labelOf) {
  return dataTable({
    label: "Partial matches",
    key: (row) => row.position,
    empty: emptyState("No partial matches now.", "A partial match appears when an event begins the pattern."),
    columns: [
      { id: "key", label: "Key", render: ({ key }) => keyText(key) },
      { id: "state", label: "State", render: ({ state }) => labelOf(state) },
      {
        id: "began",
        label: "Began (UTC)",
        render: ({ began }) => eventTime(began).text,
        title: ({ began }) => eventTime(began).exact || null,
      },
      { id: "events", label: "Events so far", render: ({ events }) => pairsText(events) || "–" },
    ],
  });
}

export function createView({ store, parameters, announce }) {
  const { name } = parameters;
  const address = encodeURIComponent(name);
  const kind = h("span", { class: "tag" });
  const state = h("span", { class: "condition" });
  const reads = h("p", { class: "muted" });
  const change = h("a", { class: "button", href: `#/statements/${address}/change`, text: "Change or try" });
  const remove = button("Remove", () => removeStatement(), { kind: "danger-quiet" });
  const actions = h("div", { class: "view-action" }, change, remove);
  const figures = {
    per_minute: figure("Per minute"),
    total: figure("Notifications"),
    partial_matches: figure("Partial matches"),
    lanes: figure("Lanes"),
    state_bytes: figure("Memory"),
    last_at: figure("Latest (UTC)"),
  };
  const counts = h("p", { class: "muted" });
  const code = h("div");
  const picture = new AutomatonPicture();
  const automatonFault = h("p", { class: "fault", hidden: true });
  const partial = partialMatchTable((id) => (picture.automaton ? picture.labelOf(id) : String(id)));
  const partialNote = h("p", { class: "muted note" });
  const cards = forecastCards({ label: "Forecasts of this statement", named: false });
  const forecastSection = section(
    "Forecasts",
    { aside: h("a", { class: "more", href: `#/forecasts?statement=${address}`, text: "All its forecasts" }) },
    cards.element,
  );
  const latest = new NotificationList({ label: "Latest notifications of this statement" });
  const quiet = emptyState(
    "No notifications of this statement yet.",
    "Try it on the last hour's events to see whether it would have matched.",
  );
  const content = h(
    "div",
    { class: "stack" },
    h(
      "dl",
      { class: "figures" },
      Object.values(figures).map((each) => each.element),
    ),
    counts,
    h(
      "div",
      { class: "pair wide-first" },
      section("Text", {}, code),
      section("Partial matches", { class: "scrolling" }, partial.element, partialNote),
    ),
    section("Automaton", {}, automatonFault, picture.element),
    forecastSection,
    section(
      "Latest notifications",
      { aside: h("a", { class: "more", href: `#/notifications?statement=${address}`, text: "All its notifications" }) },
      latest.element,
      quiet,
    ),
  );
  const missing = emptyState(
    "There is no statement of this name.",
    h("a", { href: "#/statements", text: "All statements" }),
  );
  missing.hidden = true;
  const element = h(
    "div",
    { class: "view" },
    h("p", { class: "crumbs" }, h("a", { href: "#/statements", text: "Statements" })),
    h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, h("span", { text: name }), " ", kind), state, actions),
    reads,
    content,
    missing,
  );
  const requests = new AbortController();
  let shownText = null;
  let rows = [];

  async function removeStatement() {
    const text =
      "Its partial matches are lost, and statements that read its results must be removed first. Its notifications so far stay.";
    if (!(await confirmed({ title: `Remove ${name}?`, text, action: `Remove ${name}` }))) return;
    try {
      const { state: newState } = await api.remove(name);
      if (newState) store.receive("state", newState);
      toast(`${name} is removed.`);
      location.hash = "#/statements";
    } catch (error) {
      toast(sentences(error.message, error.hint), "error");
    }
  }

  function showStatement(statement) {
    setText(kind, kindText(statement));
    const { text, kind: tone } = condition(statement);
    setText(state, text);
    setAttribute(state, "class", `condition ${tone}`);
    setText(reads, statement.reads.length ? `Reads ${statement.reads.join(", ")}` : "");
    setText(figures.per_minute.value, rate(statement.per_minute));
    const known = Object.entries(statement.counts).filter(([, number]) => number);
    setText(figures.total.value, compact(known.reduce((sum, [, number]) => sum + number, 0)));
    setText(counts, known.length ? known.map(([each, number]) => counted(number, each)).join(", ") : "");
    setText(figures.partial_matches.value, compact(statement.partial_matches));
    setText(figures.lanes.value, compact(statement.lanes));
    setText(figures.state_bytes.value, bytes(statement.state_bytes));
    const last = eventTime(statement.last_at);
    setTime(figures.last_at.value, last.text, last.exact);
    actions.hidden = false;
    remove.hidden = !store.state.can_change;
    if (statement.text !== shownText) code.replaceChildren(codeBlock(statement.text, `Text of ${name}`));
    shownText = statement.text;
  }

  function showForecasts() {
    const own = [...store.forecasts.values()].filter(({ statement }) => statement === name);
    forecastSection.hidden = own.length === 0;
    cards.update(own.sort((a, b) => b.probability - a.probability).slice(0, CARDS));
  }

  function showLatest(added) {
    rows = [...added.filter(({ subscription }) => subscription === name).reverse(), ...rows].slice(0, LATEST);
    if (!latest.inUse) latest.show(rows);
    quiet.hidden = rows.length > 0;
  }

  async function refresh() {
    if (document.hidden || !store.statement(name)) return;
    const { signal } = requests;
    const [automaton, matches] = await Promise.allSettled([
      api.automaton(name, { signal }),
      api.partialMatches(name, PARTIAL_MATCHES, { signal }),
    ]);
    if (signal.aborted) return;
    automatonFault.hidden = automaton.status === "fulfilled";
    picture.element.hidden = automaton.status !== "fulfilled";
    if (automaton.status === "fulfilled") picture.update(automaton.value);
    else setText(automatonFault, sentences(automaton.reason.message, automaton.reason.hint));
    if (matches.status === "fulfilled") showPartialMatches(matches.value);
  }

  function showPartialMatches({ rows: found, total, note }) {
    partial.update(found.map((row, position) => ({ ...row, position })));
    partial.element.hidden = !found.length && Boolean(note);
    const more =
      total !== null && total > found.length
        ? `${count(found.length)} of ${plural(total, "partial match", "partial matches")}`
        : "";
    setText(partialNote, note || more);
  }

  async function begin() {
    const { signal } = requests;
    refresh();
    try {
      const { rows: found } = await api.notifications({ statement: name, limit: LATEST }, { signal });
      const newest = rows[0]?.number ?? 0;
      rows = [...rows, ...found.filter(({ number }) => !newest || number < newest)].slice(0, LATEST);
      showLatest([]);
      store.receiveForecasts((await api.forecasts(name, { signal })).rows, true);
    } catch (error) {
      if (error.name !== "AbortError") announce(error.message);
    }
  }

  const timer = setInterval(refresh, REFRESH_MILLISECONDS);
  let begun = false;
  return {
    element,
    title: name,
    update(changed, batch) {
      if (!store.state) return;
      const statement = store.statement(name);
      content.hidden = !statement;
      missing.hidden = Boolean(statement);
      actions.hidden = !statement;
      if (!statement) return;
      if (!begun) begin();
      begun = true;
      if (changed.has("state")) showStatement(statement);
      if (changed.has("forecasts") || changed.has("state")) showForecasts();
      if (changed.has("restart")) rows = [];
      if (changed.has("notifications") || changed.has("state")) showLatest(batch.rows);
    },
    destroy() {
      clearInterval(timer);
      requests.abort();
    },
  };
}
