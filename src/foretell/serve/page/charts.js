// Line charts as SVG. They are read with the pointer, and with the arrow keys.

import { h, s, setAttribute, setText } from "./dom.js";

const MARGIN = { top: 8, right: 10, bottom: 20, left: 52 };

/** The next of 1, 2, 2.5, 5 × 10ⁿ: an axis ends at a round number. */
export function roundAbove(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= value);
}

function pathOf(points) {
  let path = "";
  let pen = false;
  for (const [x, y] of points) {
    if (y === null) pen = false;
    else {
      path += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      pen = true;
    }
  }
  // A single value is a dot.
  return points.length === 1 && path ? `${path}h0.01` : path;
}

/** A curve over the last minutes: `update({times, values})`, times in seconds. */
export class TimeCurve {
  constructor({ label, height = 148, format, axis = format, describeTime, tone = "accent" }) {
    Object.assign(this, { label, height, format, axis, describeTime });
    this.area = s("path", { class: `curve-area ${tone}` });
    this.line = s("path", { class: `curve-line ${tone}` });
    this.grid = s("g", { class: "grid" });
    this.cursor = s("line", { class: "cursor", visibility: "hidden", y1: MARGIN.top, y2: height - MARGIN.bottom });
    this.point = s("circle", { class: `cursor-point ${tone}`, r: 3.5, visibility: "hidden" });
    const parts = [this.grid, this.area, this.line, this.cursor, this.point];
    this.svg = s("svg", { class: "curve", height, "aria-hidden": "true" }, parts);
    this.readout = h("output", { class: "readout" });
    this.plot = h(
      "div",
      { class: "plot", tabindex: "0", role: "slider", "aria-label": label, "aria-valuemin": "0" },
      this.svg,
    );
    const caption = h("figcaption", {}, h("span", { class: "caption", text: label }), this.readout);
    this.element = h("figure", { class: "chart" }, caption, this.plot);
    this.data = { times: [], values: [] };
    this.chosen = null;
    this.width = 0;
    this.resizing = new ResizeObserver(([entry]) => this.resize(Math.floor(entry.contentRect.width)));
    this.resizing.observe(this.plot);
    this.plot.addEventListener("pointermove", (event) => this.choose(this.nearest(event)));
    this.plot.addEventListener("pointerleave", () => this.choose(null));
    this.plot.addEventListener("blur", () => this.choose(null));
    this.plot.addEventListener("keydown", (event) => this.step(event));
    this.update(this.data);
  }

  destroy() {
    this.resizing.disconnect();
  }

  resize(width) {
    if (width === this.width) return;
    this.width = width;
    setAttribute(this.svg, "width", width);
    this.draw();
  }

  update(data) {
    this.data = data;
    this.draw();
  }

  nearest(event) {
    const { times } = this.data;
    if (!times.length) return null;
    const x = event.clientX - this.plot.getBoundingClientRect().left;
    const time = this.from + ((x - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right)) * (this.to - this.from);
    let best = 0;
    for (let index = 1; index < times.length; index += 1)
      if (Math.abs(times[index] - time) < Math.abs(times[best] - time)) best = index;
    return best;
  }

  step(event) {
    const last = this.data.times.length - 1;
    const moves = {
      ArrowLeft: -1,
      ArrowDown: -1,
      ArrowRight: 1,
      ArrowUp: 1,
      PageDown: -10,
      PageUp: 10,
      Home: -last,
      End: last,
    };
    if (!(event.key in moves) || last < 0) return;
    event.preventDefault();
    this.choose(Math.max(0, Math.min(last, (this.chosen ?? last) + moves[event.key])));
  }

  choose(index) {
    this.chosen = index;
    this.drawCursor();
  }

  draw() {
    const { times, values } = this.data;
    const known = values.filter((value) => value !== null);
    this.to = times.at(-1) ?? 0;
    this.from = Math.min(times[0] ?? 0, this.to - 60);
    this.top = roundAbove(Math.max(0, ...known));
    if (this.width) this.drawLines();
    this.drawCursor();
  }

  drawLines() {
    const { times, values } = this.data;
    const points = times.map((time, index) => [this.x(time), values[index] === null ? null : this.y(values[index])]);
    const path = pathOf(points);
    setAttribute(this.line, "d", path);
    const gap = values.includes(null);
    const bottom = this.y(0).toFixed(1);
    const closed = points.length > 1 && !gap;
    setAttribute(
      this.area,
      "d",
      closed ? `${path}L${points.at(-1)[0].toFixed(1)} ${bottom}L${points[0][0].toFixed(1)} ${bottom}Z` : "",
    );
    this.drawGrid();
  }

  drawGrid() {
    const parts = [0, 0.5, 1].flatMap((share) => {
      const y = this.y(this.top * share);
      const line = s("line", { x1: MARGIN.left, x2: this.width - MARGIN.right, y1: y, y2: y });
      return [line, s("text", { x: MARGIN.left - 8, y: y + 4, class: "tick end", text: this.axis(this.top * share) })];
    });
    const base = this.height - 5;
    const start = s("text", { x: MARGIN.left, y: base, class: "tick", text: `−${spanText(this.to - this.from)}` });
    const end = s("text", { x: this.width - MARGIN.right, y: base, class: "tick end", text: "now" });
    this.grid.replaceChildren(...parts, ...(this.data.times.length ? [start, end] : []));
  }

  drawCursor() {
    const { times, values } = this.data;
    const chosen = this.chosen !== null && this.chosen < times.length ? this.chosen : null;
    const index = chosen ?? times.length - 1;
    const value = values[index] ?? null;
    const text = times.length ? this.format(value) : "no figures yet";
    setText(this.readout, chosen === null ? text : `${this.describeTime(times[index])} · ${text}`);
    setAttribute(this.plot, "aria-valuemax", Math.max(0, times.length - 1));
    setAttribute(this.plot, "aria-valuenow", Math.max(0, index));
    setAttribute(this.plot, "aria-valuetext", times.length ? `${this.describeTime(times[index])}: ${text}` : text);
    const shown = chosen !== null && value !== null && this.width > 0;
    for (const part of [this.cursor, this.point]) setAttribute(part, "visibility", shown ? "visible" : "hidden");
    if (!shown) return;
    setAttribute(this.cursor, "x1", this.x(times[index]));
    setAttribute(this.cursor, "x2", this.x(times[index]));
    setAttribute(this.point, "cx", this.x(times[index]));
    setAttribute(this.point, "cy", this.y(value));
  }

  x(time) {
    return MARGIN.left + ((time - this.from) / (this.to - this.from || 1)) * (this.width - MARGIN.left - MARGIN.right);
  }

  y(value) {
    return this.height - MARGIN.bottom - (value / this.top) * (this.height - MARGIN.top - MARGIN.bottom);
  }
}

const spanText = (seconds) => (seconds >= 90 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds)} s`);

/** The probability of a forecast, from 0 to 1, with its threshold: narrow enough for a card. */
export class ProbabilityCurve {
  constructor() {
    this.threshold = s("line", { class: "threshold", x1: 0, x2: 240 });
    this.above = s("path", { class: "curve-area forecast" });
    this.line = s("path", { class: "curve-line forecast" });
    // A line of no length with round ends: a dot that keeps its form while the picture is stretched.
    this.last = s("path", { class: "last-point forecast" });
    const frame = s("path", { class: "frame", d: "M0 3H240M0 61H240" });
    const parts = [frame, this.above, this.threshold, this.line, this.last];
    this.svg = s(
      "svg",
      { class: "sparkline", viewBox: "0 0 240 64", preserveAspectRatio: "none", "aria-hidden": "true" },
      parts,
    );
  }

  update({ history, threshold }) {
    const y = (probability) => 61 - probability * 58;
    const step = history.length > 1 ? 234 / (history.length - 1) : 0;
    // A probability holds until the next event.
    let path = "";
    if (history.length === 1) path = `M0 ${y(history[0][1]).toFixed(1)}H234`;
    else
      history.forEach(([, probability], index) => {
        const x = (index * step).toFixed(1);
        path += index ? `H${x}V${y(probability).toFixed(1)}` : `M${x} ${y(probability).toFixed(1)}`;
      });
    setAttribute(this.line, "d", path);
    setAttribute(this.above, "d", path ? `${path}V61H0Z` : "");
    setAttribute(this.threshold, "y1", y(threshold ?? 1));
    setAttribute(this.threshold, "y2", y(threshold ?? 1));
    const latest = history.at(-1)?.[1];
    setAttribute(this.last, "visibility", latest === undefined ? "hidden" : "visible");
    if (latest === undefined) return;
    setAttribute(this.last, "d", `M234 ${y(latest).toFixed(1)}h0.01`);
  }
}
