// What the page knows of the pipeline, bounded however long it runs. Changes are gathered and reported once in a frame.

import { clockTime } from "./format.js";

const MOST_HISTORY = 300;
const MOST_NOTIFICATIONS = 1000;
const MOST_FORECASTS = 400;
const MOST_POINTS = 90;

export const forecastKey = (row) => `${row.statement} ${JSON.stringify(row.key)}`;

export class Store {
  constructor() {
    this.state = null;
    this.history = { seconds: [], events: [], notifications: [], state_bytes: [] };
    this.connection = { phase: "connecting", since: Date.now(), retryAt: null, reason: "" };
    this.asides = { late: 0, quarantined: 0 };
    this.notifications = []; // newest last
    this.newest = 0;
    this.received = 0;
    this.missed = 0;
    this.forecasts = new Map();
    this.clockOffset = 0;
    this.listeners = new Set();
    this.changed = new Set();
    this.fresh = [];
    this.freshTotal = 0;
    this.frame = 0;
  }

  // ── what comes in ──

  connectionChanged(connection) {
    this.connection = connection;
    this.mark("connection");
  }

  receive(type, content) {
    if (type === "state") this.receiveState(content);
    else if (type === "notifications") this.receiveNotifications(content);
    else if (type === "forecasts") this.receiveForecasts(content.rows);
    else if (type === "asides") this.receiveAsides(content);
  }

  receiveState(state) {
    const restarted = this.state !== null && this.state.started_at !== state.started_at;
    if (restarted) this.begin();
    const texts = new Map(this.state?.statements.map((statement) => [statement.name, statement.text]));
    for (const statement of state.statements) statement.text ??= texts.get(statement.name) ?? "";
    this.clockOffset = (clockTime(state.now) ?? Date.now()) - Date.now();
    this.extendHistory(state.history);
    const late = state.streams.reduce((sum, stream) => sum + stream.late, 0);
    const quarantined = state.streams.reduce((sum, stream) => sum + stream.quarantined, 0);
    this.state = state;
    this.receiveAsides({ late, quarantined });
    if (restarted) this.mark("restart");
    this.mark("state");
  }

  /** A new run of the service counts from 1 again. */
  begin() {
    this.history = { seconds: [], events: [], notifications: [], state_bytes: [] };
    this.notifications = [];
    this.newest = 0;
    this.fresh = [];
    this.freshTotal = 0;
    this.forecasts.clear();
  }

  extendHistory(history) {
    const { seconds } = history;
    if (!seconds.length) return;
    const known = this.history.seconds;
    const from = known.length && seconds.length < 3 ? seconds.findIndex((time) => time > known.at(-1)) : 0;
    if (from < 0) return;
    const whole = seconds.length >= 3 || !known.length;
    for (const name of Object.keys(this.history)) {
      const added = history[name].slice(from);
      this.history[name] = (whole ? added : [...this.history[name], ...added]).slice(-MOST_HISTORY);
    }
  }

  receiveNotifications({ rows, dropped }) {
    const added = rows.filter((row) => row.number > this.newest).sort((a, b) => a.number - b.number);
    this.missed += dropped;
    this.received += added.length + dropped;
    if (added.length) {
      this.newest = added.at(-1).number;
      this.notifications = cut([...this.notifications, ...added], MOST_NOTIFICATIONS);
      this.fresh = cut([...this.fresh, ...added], MOST_NOTIFICATIONS);
    }
    this.freshTotal += added.length + dropped;
    this.mark("notifications");
  }

  /** Notifications from before the connection: known, but not new. */
  receiveEarlier(rows) {
    const known = new Set(this.notifications.map(({ number }) => number));
    const earlier = rows.filter(({ number }) => !known.has(number));
    this.notifications = cut(
      [...earlier, ...this.notifications].sort((a, b) => a.number - b.number),
      MOST_NOTIFICATIONS,
    );
    this.newest = this.notifications.at(-1)?.number ?? 0;
    this.mark("state");
  }

  receiveForecasts(rows, whole = false) {
    for (const row of rows) {
      const name = forecastKey(row);
      const known = this.forecasts.get(name);
      this.forecasts.delete(name); // the latest are at the end
      this.forecasts.set(name, whole ? { ...row } : extended(known, row));
    }
    for (const name of this.forecasts.keys()) {
      if (this.forecasts.size <= MOST_FORECASTS) break;
      this.forecasts.delete(name);
    }
    this.mark("forecasts");
  }

  receiveAsides(asides) {
    if (asides.late === this.asides.late && asides.quarantined === this.asides.quarantined) return;
    this.asides = asides;
    this.mark("asides");
  }

  // ── what goes out ──

  now() {
    return Date.now() + this.clockOffset;
  }

  statement(name) {
    return this.state?.statements.find((statement) => statement.name === name) ?? null;
  }

  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  mark(change) {
    this.changed.add(change);
    this.frame ||= requestAnimationFrame(() => this.report());
  }

  report() {
    const changed = this.changed;
    const batch = { rows: this.fresh, total: this.freshTotal };
    this.changed = new Set();
    this.fresh = [];
    this.freshTotal = 0;
    this.frame = 0;
    for (const listener of [...this.listeners]) listener(changed, batch);
  }
}

const cut = (rows, most) => (rows.length > most ? rows.slice(-most) : rows);

function extended(known, row) {
  const history = [...(known?.history ?? []), [row.at, row.probability]].slice(-MOST_POINTS);
  return { match: null, ...known, ...row, history };
}
