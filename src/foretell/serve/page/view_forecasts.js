// Forecasts, rising and falling for each key.

import { api } from "./api.js";
import { emptyState, h, labelled, setText } from "./dom.js";
import { forecastCards } from "./forecast_cards.js";
import { count, keyText, plural } from "./format.js";
import { forecastKey } from "./store.js";

const MOST_CARDS = 60;
const CALM = 500;
//: Cards change their places seldom, and never under the pointer.
const RANKING_PAUSE = 3000;

const ORDERS = {
  probability: (a, b) => b.probability - a.probability,
  key: (a, b) => keyText(a.key).localeCompare(keyText(b.key), "en", { numeric: true }),
};

export function createView({ store, parameters, navigate, announce }) {
  const cards = forecastCards({ label: "Forecasts" });
  let statement = parameters.statement ?? "";
  let order = "probability";
  let wanted = "";
  let drawn = 0;
  let ranking = { at: 0, settings: "", places: new Map() };
  let timer = null;
  const requests = new AbortController();

  const select = h("select", { id: "forecast-statement", on: { change: () => choose() } });
  const sorting = h(
    "select",
    { id: "forecast-order", on: { change: () => ((order = sorting.value), draw()) } },
    h("option", { value: "probability", text: "Most probable first" }),
    h("option", { value: "latest", text: "Latest first" }),
    h("option", { value: "key", text: "By key" }),
  );
  const search = h("input", {
    id: "forecast-key",
    type: "search",
    placeholder: "any",
    autocomplete: "off",
    spellcheck: "false",
    on: { input: () => ((wanted = search.value.trim().toLowerCase()), draw()) },
  });
  const figures = h("p", { class: "muted figures-line" });
  const toolbar = h(
    "div",
    { class: "toolbar" },
    labelled("Statement", select),
    labelled("Key", search),
    labelled("Order", sorting),
    figures,
  );
  const none = emptyState(
    "No forecasts yet.",
    "Add FORECAST WITHIN … ABOVE … to a statement. It forecasts once it has learned enough, or at once with a trained model.",
  );
  const element = h(
    "div",
    { class: "view" },
    h("h1", { tabindex: "-1", text: "Forecasts" }),
    toolbar,
    cards.element,
    none,
  );

  function choose() {
    statement = select.value;
    navigate("#/forecasts", { statement });
    draw();
  }

  /** In the chosen order, or in that of a moment ago, with new keys at the end. */
  function ranked(rows) {
    const now = performance.now();
    const settings = [order, statement, wanted].join("\n");
    const isDue = now - ranking.at > RANKING_PAUSE && !cards.element.matches(":hover, :focus-within");
    if (isDue || settings !== ranking.settings || !ranking.places.size) {
      const sorted = order in ORDERS ? rows.sort(ORDERS[order]) : rows;
      ranking = { at: now, settings, places: new Map(sorted.map((row, place) => [forecastKey(row), place])) };
      return sorted;
    }
    const place = (row) => ranking.places.get(forecastKey(row)) ?? ranking.places.size;
    return rows.sort((a, b) => place(a) - place(b));
  }

  function draw() {
    drawn = performance.now();
    const latestFirst = [...store.forecasts.values()].reverse();
    const passing = latestFirst.filter(
      (row) =>
        (!statement || row.statement === statement) && (!wanted || keyText(row.key).toLowerCase().includes(wanted)),
    );
    const sorted = ranked(passing);
    cards.update(sorted.slice(0, MOST_CARDS));
    cards.element.hidden = sorted.length === 0;
    none.hidden = sorted.length > 0;
    setText(none.firstElementChild, store.forecasts.size ? "No forecasts pass this filter." : "No forecasts yet.");
    const above = sorted.filter((row) => row.threshold !== null && row.probability >= row.threshold).length;
    const cut = sorted.length > MOST_CARDS ? `, ${count(MOST_CARDS)} shown` : "";
    setText(
      figures,
      sorted.length ? `${plural(sorted.length, "key")}${cut}, ${count(above)} at or above the threshold` : "",
    );
  }

  function schedule() {
    timer ??= setTimeout(
      () => {
        timer = null;
        requestAnimationFrame(draw);
      },
      Math.max(0, drawn + CALM - performance.now()),
    );
  }

  function fillSelect() {
    const names = [...new Set([...store.state.statements.map(({ name }) => name), ...(statement ? [statement] : [])])];
    if (select.dataset.names === names.join("\n")) return;
    select.dataset.names = names.join("\n");
    select.replaceChildren(
      h("option", { value: "", text: "All statements" }),
      ...names.map((name) => h("option", { value: name, text: name })),
    );
    select.value = statement;
  }

  api
    .forecasts(null, requests)
    .then(({ rows }) => store.receiveForecasts(rows.reverse(), true))
    .catch((error) => error.name === "AbortError" || announce(error.message));
  draw();

  return {
    element,
    title: "Forecasts",
    update(changed) {
      if (store.state && changed.has("state")) fillSelect();
      if (changed.has("forecasts") || changed.has("restart")) schedule();
    },
    destroy() {
      clearTimeout(timer);
      requests.abort();
    },
  };
}
