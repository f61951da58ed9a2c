// Events that were set aside: late ones, and those that could not be read, with the reasons.

import { api } from "./api.js";
import { emptyState, h, section, setText } from "./dom.js";
import { ago, clockTime, count, exactTime, plural, sentences, timeOfDay } from "./format.js";
import { dataTable } from "./table.js";

const SHOWN = 50;
const CALM = 1500;

const eventText = (event) => (typeof event === "string" ? event : JSON.stringify(event));

const receivedText = (time, now) =>
  now - time < 43_200_000 ? timeOfDay(time) : exactTime(time).slice(0, 16).replace("T", " ");

function asideTable(store, label, empty) {
  return dataTable({
    label,
    key: (row) => row.identity,
    empty,
    columns: [
      {
        id: "at",
        label: "Received",
        render: ({ at }) => (clockTime(at) === null ? "–" : receivedText(clockTime(at), store.now())),
        title: ({ at }) =>
          clockTime(at) === null ? null : `${exactTime(clockTime(at))}, ${ago(clockTime(at), store.now())}`,
      },
      { id: "stream", label: "Stream", render: ({ stream }) => stream },
      { id: "reason", label: "Reason", render: ({ reason }) => reason },
      {
        id: "event",
        label: "Event",
        code: true,
        render: ({ event }) => eventText(event),
        title: ({ event }) => (typeof event === "string" ? event : JSON.stringify(event, null, 1)),
      },
    ],
  });
}

function numbered(rows) {
  const seen = new Map();
  return rows.map((row) => {
    const text = JSON.stringify(row);
    seen.set(text, (seen.get(text) ?? 0) + 1);
    return { ...row, identity: `${text} ${seen.get(text)}` };
  });
}

export function createView({ store }) {
  const late = asideTable(
    store,
    "Late events",
    emptyState(
      "No late events.",
      "An event is late when it comes after the watermark has passed it; LATE BY in the STREAM statement says how long the pipeline waits.",
    ),
  );
  const quarantine = asideTable(
    store,
    "Quarantined events",
    emptyState(
      "No quarantined events.",
      "Events whose time or form cannot be read come here, with the reason, instead of being lost.",
    ),
  );
  const counts = { late: h("p", { class: "muted" }), quarantine: h("p", { class: "muted" }) };
  const fault = h("p", { class: "fault", role: "alert", hidden: true });
  const element = h(
    "div",
    { class: "view" },
    h("h1", { tabindex: "-1", text: "Set aside" }),
    fault,
    section("Late events", {}, counts.late, late.element),
    section("Quarantined events", {}, counts.quarantine, quarantine.element),
  );
  const requests = new AbortController();
  let timer = null;
  let loaded = -CALM;

  async function load() {
    loaded = performance.now();
    try {
      const [lateEvents, quarantined] = await Promise.all([api.late(SHOWN, requests), api.quarantine(SHOWN, requests)]);
      show(late, counts.late, lateEvents);
      show(quarantine, counts.quarantine, quarantined);
      fault.hidden = true;
    } catch (error) {
      if (error.name === "AbortError") return;
      setText(fault, sentences(error.message, error.hint));
      fault.hidden = false;
    }
  }

  function show(table, line, { rows, total }) {
    table.update(numbered(rows));
    const part = total > rows.length ? `The newest ${count(rows.length)} of ${plural(total, "event")}.` : "";
    setText(line, part);
    line.hidden = !part;
  }

  function schedule() {
    timer ??= setTimeout(
      () => {
        timer = null;
        load();
      },
      Math.max(0, loaded + CALM - performance.now()),
    );
  }

  return {
    element,
    title: "Set aside",
    update(changed) {
      if (changed.has("asides") || changed.has("restart") || loaded < 0) schedule();
    },
    destroy() {
      clearTimeout(timer);
      requests.abort();
    },
  };
}
