// The page: its frame, its views, and the connection that feeds them.

import { api } from "./api.js";
import { Connection } from "./connection.js";
import { help, toast } from "./dialogs.js";
import { button, emptyState, h, icon, loadIcons, setAttribute, setText } from "./dom.js";
import { ago, clockTime, compact, eventTime, plural, sentences, timeOfDay } from "./format.js";
import { Store } from "./store.js";
import * as asides from "./view_asides.js";
import * as editor from "./view_editor.js";
import * as forecasts from "./view_forecasts.js";
import * as notifications from "./view_notifications.js";
import * as overview from "./view_overview.js";
import * as statement from "./view_statement.js";
import * as statements from "./view_statements.js";

const ANNOUNCEMENT_PAUSE = 20_000;
const EARLIER = 100;

const VIEWS = [
  { id: "overview", label: "Overview", symbol: "overview" },
  { id: "statements", label: "Statements", symbol: "statements" },
  { id: "notifications", label: "Notifications", symbol: "notifications" },
  { id: "forecasts", label: "Forecasts", symbol: "forecasts" },
  { id: "aside", label: "Set aside", symbol: "aside" },
];

const ROUTES = [
  [/^\/overview$/, overview, "overview"],
  [/^\/statements$/, statements, "statements"],
  [/^\/new$/, editor, "statements"],
  [/^\/statements\/([^/]+)\/change$/, editor, "statements"],
  [/^\/statements\/([^/]+)$/, statement, "statements"],
  [/^\/notifications$/, notifications, "notifications"],
  [/^\/forecasts$/, forecasts, "forecasts"],
  [/^\/aside$/, asides, "aside"],
];

const part = (id) => document.getElementById(id);
const store = new Store();
const connection = new Connection({
  event: (type, content) => store.receive(type, content),
  status: (status) => store.connectionChanged(status),
});

// ── views ──

let view = null;

function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  for (const [pattern, module, tab] of ROUTES) {
    const found = pattern.exec(path);
    if (found)
      return {
        module,
        tab,
        parameters: { ...Object.fromEntries(new URLSearchParams(query)), name: found[1] && decoded(found[1]) },
      };
  }
  return null;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Writes a filter into the address without showing the view anew. */
function navigate(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value);
  history.replaceState(null, "", given.length ? `${path}?${new URLSearchParams(given)}` : path);
}

function showView(focus) {
  const route = routeOf(location.hash);
  if (!route) {
    location.replace("#/overview");
    return;
  }
  view?.destroy();
  view = route.module.createView({ store, parameters: route.parameters, navigate, announce });
  part("main").replaceChildren(view.element, waiting);
  showWaiting();
  for (const { id } of VIEWS) setAttribute(part(`tab-${id}`), "aria-current", id === route.tab ? "page" : null);
  view.update(new Set(["state", "asides", "forecasts"]), { rows: [], total: 0 });
  showTitle();
  scrollTo({ top: 0, behavior: "instant" });
  if (focus) view.element.querySelector("h1")?.focus({ preventScroll: true });
}

const waiting = emptyState(
  "Connecting to the pipeline …",
  "If this takes long, see whether foretell serve is running.",
);

/** A view without figures would say that there are none. */
function showWaiting() {
  waiting.hidden = store.state !== null;
  if (view) view.element.hidden = store.state === null;
}

function showTitle() {
  const pipeline = store.state?.title;
  document.title = [view?.title, pipeline, "Foretell"].filter(Boolean).join(" · ");
}

function buildTabs() {
  for (const { id, label, symbol } of VIEWS) {
    const badge = h("span", { class: "badge", id: `badge-${id}`, hidden: true });
    part("views").append(
      h(
        "li",
        {},
        h(
          "a",
          { id: `tab-${id}`, href: `#/${id}` },
          icon(symbol),
          h("span", { class: "tab-label", text: label }),
          badge,
        ),
      ),
    );
  }
}

// ── the frame ──

const HEALTH = { running: "Running", finished: "Finished", stopped: "Stopped", failed: "Failed" };

function showFrame(changed) {
  const { state, connection: link } = store;
  const open = link.phase === "open";
  const health = open && state ? state.status : link.phase === "broken" ? "broken" : "connecting";
  setAttribute(part("health"), "data-health", health);
  setText(part("health-text"), HEALTH[health] ?? (health === "broken" ? "Not connected" : "Connecting"));
  showBanner(open, state, link);
  if (!state) return;
  setText(part("pipeline"), state.title);
  part("read-only").hidden = !state.read_only;
  showBadge("aside", store.asides.late + store.asides.quarantined, "events set aside");
  if (changed.has("state")) showTitle();
}

function showBadge(id, number, label) {
  const badge = part(`badge-${id}`);
  badge.hidden = !number;
  setText(badge, compact(number));
  setAttribute(badge, "title", `${number} ${label}`);
}

/** The banner says what is wrong, since when, and what happens next. It is written only when that changes. */
function showBanner(open, state, link) {
  const banner = part("banner");
  const content = bannerContent(open, state, link);
  banner.hidden = !content;
  if (!content) {
    banner.dataset.said = "";
    return;
  }
  const { kind, title, text, action } = content;
  if (banner.dataset.said === title + text) return;
  banner.dataset.said = title + text;
  setAttribute(banner, "data-kind", kind);
  const message = h("p", {}, h("strong", { text: title }), ` ${text}`);
  banner.replaceChildren(icon(kind === "info" ? "check" : kind), message, ...(action ? [action] : []));
}

function bannerContent(open, state, link) {
  if (link.phase === "broken") {
    const seen = state ? `What you see is from ${timeOfDay(clockTime(state.now))}.` : "";
    const text = [link.reason, seen, "This page connects again by itself."].filter(Boolean).join(" ");
    const title = state ? "The connection to the server is lost." : "The server does not answer.";
    return { kind: "warning", title, text, action: button("Try now", () => connection.retry(), { kind: "small" }) };
  }
  if (!open || !state || state.status === "running") return null;
  const { error, hint } = state.error ?? {};
  if (state.status === "failed")
    return {
      kind: "error",
      title: "The pipeline failed.",
      text: sentences(error, hint) || "See the terminal of foretell serve.",
    };
  if (state.status === "stopped")
    return {
      kind: "warning",
      title: "The pipeline stopped.",
      text: "No further events are read. Start foretell serve again to go on.",
    };
  return { kind: "info", title: "The pipeline has finished.", text: "All input is read; the figures are final." };
}

function showClock() {
  const { state } = store;
  if (!state) return;
  const watermark = eventTime(state.watermark);
  const heard = clockTime(state.now);
  setText(part("clock"), state.watermark === null ? "" : `${watermark.text}${watermark.date ? " UTC" : ""}`);
  setAttribute(part("clock"), "title", `Event time (watermark) ${watermark.exact}, heard ${ago(heard, store.now())}`);
}

function showTheme() {
  const current = window.foretellTheme.current;
  const names = { system: "as the system", light: "light", dark: "dark" };
  setAttribute(part("theme"), "aria-label", `Theme: ${names[current]}`);
  setAttribute(part("theme"), "title", `Theme: ${names[current]}`);
  part("theme").replaceChildren(icon(current));
}

// ── announcements for those who listen ──

let announced = 0;
let unannounced = 0;

function announce(text) {
  setText(part("announcer"), text);
}

/** Notifications are announced as a number, and not more often than people can listen. */
function announceNotifications(total) {
  unannounced += total;
  const now = performance.now();
  if (!unannounced || now - announced < ANNOUNCEMENT_PAUSE) return;
  announce(`${plural(unannounced, "new notification")}`);
  announced = now;
  unannounced = 0;
}

// ── the keyboard ──

const SHORTCUTS = "foretell-shortcuts";

function shortcutsOn() {
  try {
    return localStorage.getItem(SHORTCUTS) !== "off";
  } catch {
    return true;
  }
}

function switchShortcuts(on) {
  try {
    localStorage.setItem(SHORTCUTS, on ? "on" : "off");
  } catch {
    toast("This browser keeps no settings, so the shortcuts stay on.", "error");
  }
}

const showHelp = () => help({ shortcuts: shortcutsOn(), switchShortcuts });

function pressed(event) {
  const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !shortcutsOn()) return;
  const number = "12345".indexOf(event.key);
  if (number >= 0) location.hash = `#/${VIEWS[number].id}`;
  else if (event.key === "n") location.hash = "#/new";
  else if (event.key === "?") showHelp();
  else if (view?.shortcut) view.shortcut(event.key);
  else return;
  if (event.key === "n") event.preventDefault();
}

// ── start ──

/** The connection brings what comes from now on; these came before. */
async function loadEarlier() {
  try {
    store.receiveEarlier((await api.notifications({ limit: EARLIER })).rows);
  } catch {
    // The banner says that the server does not answer; the connection brings what follows.
  }
}

buildTabs();
showTheme();
part("theme").addEventListener("click", () => {
  window.foretellTheme.next();
  showTheme();
});
part("help").addEventListener("click", showHelp);
part("skip").addEventListener("click", (event) => {
  event.preventDefault();
  part("main").focus();
});
addEventListener("hashchange", () => showView(true));
document.addEventListener("keydown", pressed);
store.listen((changed, batch) => {
  showFrame(changed);
  if (changed.has("state")) showClock();
  if (changed.has("restart")) {
    connection.forget();
    loadEarlier();
    toast("The server was started anew; its counts begin again.");
  }
  announceNotifications(batch.total);
  showWaiting();
  view?.update(changed, batch);
});
loadIcons();
showView(false);
connection.start();
loadEarlier();
