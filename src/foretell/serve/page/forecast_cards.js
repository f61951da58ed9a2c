// A card for each key with a forecast: the probability, its curve, and the threshold.

import { ProbabilityCurve } from "./charts.js";
import { h, keyed, setAttribute, setText } from "./dom.js";
import { eventTime, horizonText, keyText, keyValues, percent, setTime } from "./format.js";
import { forecastKey } from "./store.js";

//: What nobody sees is no change.
const LEAST_CHANGE = 0.005;

function newCard(row, named) {
  const curve = new ProbabilityCurve();
  const value = h("span", { class: "forecast-value" });
  const trend = h("span", { class: "trend" });
  const title = h("h3", { class: "forecast-key", text: keyValues(row.key), title: keyText(row.key) });
  const statement = h("a", {
    class: "forecast-statement",
    href: `#/statements/${encodeURIComponent(row.statement)}`,
    text: row.statement,
  });
  const threshold = h("span");
  const time = h("time");
  const foot = h("p", { class: "forecast-foot" }, threshold, time);
  const names = h("div", { class: "forecast-names" }, title, named ? statement : null);
  const head = h("div", { class: "forecast-head" }, names, h("div", { class: "forecast-figures" }, value, trend));
  const element = h("li", { class: "forecast" }, head, curve.svg, foot);
  return Object.assign(element, { parts_: { curve, value, trend, threshold, time } });
}

function fill(element, row) {
  const { curve, value, trend, threshold, time } = element.parts_;
  const above = row.threshold !== null && row.probability >= row.threshold;
  setText(value, percent(row.probability));
  setAttribute(element, "class", `forecast${above ? " above" : ""}`);
  const before = row.history.at(-2)?.[1];
  const change = before === undefined ? 0 : row.probability - before;
  const direction = Math.abs(change) < LEAST_CHANGE ? "steady" : change > 0 ? "rising" : "falling";
  setText(trend, { steady: "→ steady", rising: "↑ rising", falling: "↓ falling" }[direction]);
  const horizon = horizonText(row.horizon);
  setText(threshold, `${above ? "at or above" : "below"} ${percent(row.threshold)}${horizon ? ` ${horizon}` : ""}`);
  const at = eventTime(row.at);
  setTime(time, at.text, at.exact);
  curve.update(row);
}

/** `update(rows)` shows these, in this order. */
export function forecastCards({ label, named = true }) {
  const element = h("ul", { class: "forecasts", "aria-label": label });
  const update = keyed(element, { key: forecastKey, create: (row) => newCard(row, named), update: fill });
  return { element, update };
}
