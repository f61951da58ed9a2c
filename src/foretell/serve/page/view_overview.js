// The overview: how the pipeline is, at a glance.

import { TimeCurve } from "./charts.js";
import { emptyState, h, section, setAttribute, setText } from "./dom.js";
import { bytes, clockTime, compact, count, eventTime, exactTime, plural, rate, setTime, timeOfDay } from "./format.js";
import { NotificationList } from "./notification_list.js";
import { statementTable } from "./statement_table.js";
import { dataTable } from "./table.js";

const LATEST = 8;
const LIST_MILLISECONDS = 1000;

const sum = (rows, name) => {
  const known = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
  return known.length ? known.reduce((total, value) => total + value, 0) : null;
};

function tile(label) {
  const value = h("dd", { class: "tile-value" });
  const detail = h("dd", { class: "tile-detail" });
  return { element: h("div", { class: "tile" }, h("dt", { text: label }), value, detail), value, detail };
}

function streamTable() {
  return dataTable({
    label: "Streams",
    key: ({ name }) => name,
    empty: emptyState("No streams yet.", "A stream appears when its first event has come."),
    columns: [
      { id: "name", label: "Stream", render: ({ name }) => name, title: ({ text }) => text || null },
      { id: "rate", label: "Events/s", numeric: true, render: (stream) => rate(stream.per_second) },
      {
        id: "events",
        label: "Events",
        numeric: true,
        render: ({ events }) => compact(events),
        title: ({ events }) => count(events),
      },
      { id: "late", label: "Late", numeric: true, render: ({ late }) => count(late) },
      { id: "quarantined", label: "Quarantined", numeric: true, render: ({ quarantined }) => count(quarantined) },
      {
        id: "unreadable",
        label: "Unreadable values",
        numeric: true,
        render: ({ unreadable }) => count(unreadable),
        title: () => "Values that could not be read and are NULL",
      },
      { id: "latest", label: "Latest event (UTC)", render: (stream) => eventTime(stream.last_event_time).text },
    ],
  });
}

export function createView({ store }) {
  const tiles = {
    events: tile("Events"),
    notifications: tile("Notifications"),
    partial: tile("Partial matches"),
    memory: tile("State"),
    time: tile("Event time"),
    asides: tile("Set aside"),
  };
  const describeTime = (seconds) => timeOfDay((clockTime(store.state?.started_at) ?? 0) + seconds * 1000);
  const perSecond = (unit) => (value) => (value === null ? "not known" : `${rate(value)} ${unit}`);
  const curves = {
    events: new TimeCurve({ label: "Events per second", format: perSecond("events/s"), axis: rate, describeTime }),
    notifications: new TimeCurve({
      label: "Notifications per second",
      format: perSecond("notifications/s"),
      axis: rate,
      describeTime,
      tone: "warm",
    }),
    state_bytes: new TimeCurve({
      label: "Memory of the state",
      format: (value) => (value === null ? "not known" : bytes(value)),
      axis: bytes,
      describeTime,
      tone: "cool",
    }),
  };
  const statements = statementTable();
  const streams = streamTable();
  const latest = new NotificationList({ label: "Latest notifications" });
  const quiet = emptyState("No notifications yet.", "They appear here as soon as a pattern matches.");
  const all = h("a", { class: "more", href: "#/notifications", text: "All notifications" });
  const notes = h("ul", { class: "notes" });
  const notesSection = section("Notes of this run", {}, notes);
  const engine = h("p", { class: "muted engine" });
  const element = h(
    "div",
    { class: "view overview" },
    h("h1", { tabindex: "-1", text: "Overview" }),
    h(
      "dl",
      { class: "tiles" },
      Object.values(tiles).map((each) => each.element),
    ),
    h(
      "div",
      { class: "curves" },
      Object.values(curves).map((curve) => h("div", { class: "card" }, curve.element)),
    ),
    section(
      "Statements",
      { aside: h("a", { class: "more", href: "#/statements", text: "All statements" }) },
      statements.element,
    ),
    section("Latest notifications", { aside: all }, latest.element, quiet),
    section("Streams", {}, streams.element),
    notesSection,
    engine,
  );
  let listed = 0;

  function showTiles(state) {
    const { events, notifications, partial, memory, time, asides } = tiles;
    setText(events.value, `${rate(sum(state.streams, "per_second") ?? 0)}/s`);
    setText(events.detail, `${compact(sum(state.streams, "events") ?? 0)} in all`);
    setText(notifications.value, `${rate(sum(state.statements, "per_minute") ?? 0)}/min`);
    const total = state.statements
      .flatMap(({ counts }) => Object.values(counts))
      .reduce((all_, each) => all_ + each, 0);
    setText(notifications.detail, `${compact(total)} in all`);
    setText(partial.value, compact(sum(state.statements, "partial_matches")));
    const unknown = sum(state.statements, "partial_matches") === null && state.statements.length > 0;
    setText(
      partial.detail,
      unknown ? "not known on this engine" : `of ${plural(state.statements.length, "statement")}`,
    );
    setText(memory.value, bytes(store.history.state_bytes.at(-1) ?? sum(state.statements, "state_bytes")));
    setText(memory.detail, "of the engine");
    const watermark = eventTime(state.watermark);
    setTime(time.value, watermark.clock ?? watermark.text, watermark.exact);
    setText(time.detail, watermark.date ? `${watermark.date} UTC, watermark` : "watermark");
    setText(asides.value, compact(store.asides.late + store.asides.quarantined));
    setText(asides.detail, `${count(store.asides.late)} late, ${count(store.asides.quarantined)} quarantined`);
    setAttribute(asides.element, "class", `tile${store.asides.late + store.asides.quarantined ? " attention" : ""}`);
  }

  function showState(state) {
    showTiles(state);
    for (const [name, curve] of Object.entries(curves))
      curve.update({ times: store.history.seconds, values: store.history[name] });
    statements.update(state.statements, store);
    streams.update(state.streams);
    notesSection.hidden = !state.notes?.length;
    const texts = state.notes ?? [];
    if (notes.textContent !== texts.join("")) notes.replaceChildren(...texts.map((text) => h("li", { text })));
    const started = clockTime(state.started_at);
    const since = started === null ? "" : `started ${exactTime(started).slice(0, 16).replace("T", " ")} UTC`;
    setText(
      engine,
      [`Engine: ${state.engine}`, state.engine_note, since]
        .filter(Boolean)
        .map((part) => part.replace(/\.$/, ""))
        .join(" · "),
    );
  }

  function showLatest() {
    listed = performance.now();
    if (!latest.inUse) latest.show(store.notifications.slice(-LATEST).reverse());
    quiet.hidden = store.notifications.length > 0;
  }

  return {
    element,
    title: "Overview",
    update(changed) {
      if (store.state && (changed.has("state") || changed.has("asides"))) showState(store.state);
      if (changed.has("state") || performance.now() - listed > LIST_MILLISECONDS) showLatest();
    },
    destroy: () => Object.values(curves).forEach((curve) => curve.destroy()),
  };
}
