// Notifications as they come: filtered, paused, and of bounded length however fast they are.

import { api } from "./api.js";
import { button, emptyState, h, icon, labelled, setAttribute, setText } from "./dom.js";
import { compact, count, plural, rate, sentences } from "./format.js";
import { KIND_NAMES, NotificationList } from "./notification_list.js";

const SHOWN = 100;
const PAGE = 100;
const MOST_SHOWN = 1000;
const QUICK = 250;
const CALM = 1000;
//: Above so many in a quarter of a second nobody reads along; the list then moves once a second.
const MANY = 12;

export function createView({ store, parameters, announce, navigate }) {
  const view = new NotificationView(store, parameters, announce, navigate);
  return view;
}

class NotificationView {
  constructor(store, parameters, announce, navigate) {
    Object.assign(this, { store, announce, navigate, title: "Notifications" });
    this.statement = parameters.statement ?? "";
    this.kinds = new Set((parameters.kind ?? "").split(",").filter(Boolean));
    this.rows = []; // newest first
    this.pending = []; // newest last
    this.waiting = 0;
    this.paused = false;
    this.more = false;
    this.rendered = 0;
    this.extended = false;
    this.requests = new AbortController();
    this.list = new NotificationList({ label: "Notifications, newest first", changed: () => this.schedule() });
    this.build();
    this.load();
  }

  // ── the parts ──

  build() {
    this.pause = button("Pause", () => this.togglePause(), {
      symbol: "pause",
      "aria-pressed": "false",
      class: "pause",
    });
    this.select = h("select", {
      id: "filter-statement",
      on: { change: () => this.filter({ statement: this.select.value }) },
    });
    this.boxes = Object.entries(KIND_NAMES).map(([kind, name]) => this.kindBox(kind, name));
    const kinds = h(
      "fieldset",
      { class: "kinds" },
      h("legend", { class: "hidden-visually", text: "Kinds" }),
      this.boxes,
    );
    const statement = labelled("Statement", this.select);
    this.figures = h("p", { class: "muted figures-line" });
    this.held = h("p", { class: "held", hidden: true });
    this.heldText = h("span");
    this.held.append(
      this.heldText,
      button("Show the newest", () => this.catchUp(), { kind: "small" }),
    );
    this.toolbar = h("div", { class: "toolbar" }, this.pause, statement, kinds, this.figures, this.held);
    this.older = button("Show older ones", () => this.loadOlder(), { class: "older" });
    this.end = h("p", { class: "muted list-end" });
    this.quiet = emptyState("No notifications yet.", "They appear here as soon as a pattern matches.");
    this.fault = h("p", { class: "fault", role: "alert", hidden: true });
    const list = h(
      "section",
      { class: "card flush", "aria-label": "Notifications" },
      this.list.element,
      this.quiet,
      h("div", { class: "list-foot" }, this.older, this.end),
    );
    this.element = h(
      "div",
      { class: "view" },
      h("h1", { tabindex: "-1", text: "Notifications" }),
      this.toolbar,
      this.fault,
      list,
    );
  }

  kindBox(kind, name) {
    const box = h("input", { type: "checkbox", value: kind, on: { change: () => this.filter({}) } });
    box.checked = this.kinds.has(kind);
    return h("label", { class: "chip" }, box, h("span", { text: name }));
  }

  fillSelect() {
    const names = this.store.state?.statements.map(({ name }) => name) ?? [];
    if (this.statement && !names.includes(this.statement)) names.push(this.statement);
    if (this.names === names.join("\n")) return;
    this.names = names.join("\n");
    this.select.replaceChildren(
      h("option", { value: "", text: "All statements" }),
      ...names.map((name) => h("option", { value: name, text: name })),
    );
    this.select.value = this.statement;
  }

  // ── filter ──

  filter({ statement = this.statement }) {
    const kinds = this.boxes
      .map((label) => label.firstElementChild)
      .filter((box) => box.checked)
      .map((box) => box.value);
    this.statement = statement;
    this.kinds = new Set(kinds);
    this.navigate("#/notifications", { statement, kind: kinds.join(",") });
    this.rows = this.rows.filter((row) => this.wanted(row)); // until the others of this filter are there
    this.pending = [];
    this.waiting = 0;
    this.extended = false;
    this.loaded = false;
    this.render();
    this.load();
  }

  get filtered() {
    return Boolean(this.statement) || this.kinds.size > 0;
  }

  wanted(row) {
    return (!this.statement || row.subscription === this.statement) && (!this.kinds.size || this.kinds.has(row.kind));
  }

  query(more) {
    return { statement: this.statement, kind: [...this.kinds].join(","), limit: PAGE, ...more };
  }

  // ── rows ──

  async load() {
    this.requests.abort();
    this.requests = new AbortController();
    try {
      const { rows, more } = await api.notifications(this.query({}), this.requests);
      const newest = rows[0]?.number ?? 0;
      this.pending = this.pending.filter(({ number }) => number > newest);
      this.waiting = Math.min(this.waiting, this.pending.length);
      this.rows = rows;
      this.more = more;
      this.loaded = true;
      this.fault.hidden = true;
      this.render();
    } catch (error) {
      this.report(error);
    }
  }

  async loadOlder() {
    const before = this.rows.at(-1)?.number;
    if (before === undefined) return;
    this.older.setAttribute("aria-disabled", "true");
    try {
      const { rows, more } = await api.notifications(this.query({ before }), this.requests);
      const focus = this.rows.length;
      this.extended = true;
      this.rows = [...this.rows, ...rows].slice(0, MOST_SHOWN);
      this.more = more;
      this.render();
      this.list.element.children[focus]?.querySelector("summary").focus();
    } catch (error) {
      this.report(error);
    } finally {
      this.older.setAttribute("aria-disabled", "false");
    }
  }

  report(error) {
    if (error.name === "AbortError") return;
    setText(this.fault, sentences(error.message, error.hint));
    this.fault.hidden = false;
  }

  update(changed, batch) {
    if (changed.has("restart")) {
      Object.assign(this, { rows: [], pending: [], waiting: 0, extended: false });
      this.load();
    }
    const added = batch.rows.filter((row) => this.wanted(row));
    if (added.length) {
      this.pending = [...this.pending, ...added].slice(-SHOWN);
      this.waiting += this.filtered ? added.length : Math.max(added.length, batch.total);
    }
    if (changed.has("state")) {
      this.fillSelect();
      this.showFigures();
    }
    if (this.pending.length || changed.has("restart")) this.schedule();
  }

  /** Whether somebody reads: then rows stay where they are. */
  get holding() {
    return this.paused || this.extended || this.list.inUse || this.scrolled;
  }

  get scrolled() {
    const first = this.list.element.firstElementChild;
    return (
      first !== null &&
      first.getBoundingClientRect().top < this.toolbar.getBoundingClientRect().bottom - 8 &&
      scrollY > 40
    );
  }

  schedule() {
    if (this.timer) return;
    const wait = this.pending.length > MANY ? CALM : QUICK;
    this.timer = setTimeout(
      () => {
        this.timer = null;
        requestAnimationFrame(() => this.render());
      },
      Math.max(0, this.rendered + wait - performance.now()),
    );
  }

  render() {
    this.rendered = performance.now();
    if (!this.holding) this.takePending();
    this.list.show(this.rows);
    this.quiet.hidden = this.rows.length > 0 || !this.loaded;
    setText(
      this.quiet.firstElementChild,
      this.filtered ? "No notifications pass this filter yet." : "No notifications yet.",
    );
    this.showFoot();
    this.showHeld();
  }

  takePending() {
    const known = this.rows[0]?.number ?? 0;
    const added = this.pending.filter(({ number }) => number > known).reverse();
    this.pending = [];
    this.waiting = 0;
    if (!added.length) return;
    const all = [...added, ...this.rows];
    this.more ||= all.length > SHOWN;
    this.rows = all.slice(0, SHOWN);
  }

  showFoot() {
    const full = this.rows.length >= MOST_SHOWN;
    this.older.hidden = !this.more || full || !this.rows.length;
    const text = full
      ? `${count(MOST_SHOWN)} rows are shown; filter to see others.`
      : this.more
        ? `${plural(this.rows.length, "row")} shown`
        : this.rows.length
          ? "That is all that is kept."
          : "";
    setText(this.end, text);
  }

  showHeld() {
    this.held.hidden = !this.holding || (!this.waiting && !this.paused);
    const why = this.paused ? "Paused" : "Held while you read";
    setText(this.heldText, `${why} · ${count(this.waiting)} new`);
  }

  showFigures() {
    if (!this.store.state) return;
    const { statements } = this.store.state;
    const dropped = this.store.missed;
    const perMinute = statements.reduce((sum, each) => sum + each.per_minute, 0);
    const total = statements.flatMap(({ counts }) => Object.values(counts)).reduce((sum, each) => sum + each, 0);
    const missed = dropped ? ` · ${compact(dropped)} not sent here, too fast for this page` : "";
    setText(this.figures, `${compact(total)} in all · ${rate(perMinute)}/min${missed}`);
  }

  // ── pause ──

  togglePause() {
    this.paused = !this.paused;
    setAttribute(this.pause, "aria-pressed", String(this.paused));
    this.pause.replaceChildren(
      icon(this.paused ? "play" : "pause"),
      h("span", { text: this.paused ? "Go on" : "Pause" }),
    );
    if (!this.paused) this.catchUp();
    else this.render();
    this.announce(this.paused ? "Notifications are paused." : "Notifications go on.");
  }

  /** Back to the newest: nothing is open, and the list is at its top. */
  catchUp() {
    if (this.paused) this.pause.click();
    this.extended = false;
    for (const open of this.list.element.querySelectorAll("details[open]")) open.open = false;
    if (this.list.element.contains(document.activeElement) || this.held.contains(document.activeElement))
      this.pause.focus();
    scrollTo({ top: 0, behavior: "instant" });
    this.rows = this.rows.slice(0, SHOWN);
    this.takePending();
    this.render();
  }

  shortcut(key) {
    if (key === "p") this.pause.click();
  }

  destroy() {
    clearTimeout(this.timer);
    this.requests.abort();
  }
}
