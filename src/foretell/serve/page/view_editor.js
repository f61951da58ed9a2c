// Adding or changing a statement: checked while one types, tried on the last hour's events, then saved.

import { api } from "./api.js";
import { toast } from "./dialogs.js";
import { button, emptyState, h, section, setText } from "./dom.js";
import { StatementEditor, drafts } from "./editor.js";
import { duration, eventTime, plural, sentences } from "./format.js";
import { NotificationList } from "./notification_list.js";
import { counted } from "./statement_table.js";
import { streamDeclarations } from "./view_statements.js";

function example(streams) {
  const stream = streams[0]?.name ?? "events";
  return `SUBSCRIBE my_pattern FROM ${stream}\nMATCH  a , b;\n`;
}

class Trial {
  constructor() {
    this.status = h("p", { class: "trial-status", role: "status" });
    this.list = new NotificationList({ label: "What the statement would have said" });
    this.hint = emptyState(
      "Not tried yet.",
      "A trial runs the statement alone on the kept events of the last hour of event time. It changes nothing in the pipeline.",
    );
    this.element = section("Trial", {}, this.status, this.list.element, this.hint);
  }

  async run(text, replaces) {
    this.hint.hidden = true;
    setText(this.status, "Trying …");
    this.status.dataset.kind = "busy";
    try {
      this.show(await api.try(text, replaces));
      return null;
    } catch (error) {
      this.list.show([]);
      this.status.dataset.kind = "error";
      setText(this.status, sentences(error.message, error.hint));
      return error;
    }
  }

  show({ rows, counts, events, from, to, seconds, note }) {
    const found = Object.entries(counts).filter(([, number]) => number);
    const total = found.length ? found.map(([kind, number]) => counted(number, kind)).join(", ") : "No notifications";
    const span = from === null || from === undefined ? "" : ` from ${eventTime(from).text} to ${eventTime(to).text}`;
    const listed = rows.length ? ` The newest ${plural(rows.length, "row")}:` : "";
    setText(
      this.status,
      `${total} in ${plural(events, "event")}${span}, in ${duration(seconds)}. ${note ?? ""}${listed}`,
    );
    this.status.dataset.kind = "done";
    const numbered = rows.map((row, position) => ({ ...row, position }));
    this.list.show(numbered.reverse(), ({ position }) => position);
  }
}

export function createView({ store, parameters }) {
  const replaces = parameters.name ?? null;
  const draft = replaces ?? " new";
  const heading = replaces ? `Change ${replaces}` : "Add a statement";
  const place = h("div");
  const trial = new Trial();
  const tryButton = button("Try on the last hour", () => tryText(), { title: "Alt+Enter" });
  const save = button(replaces ? "Save the change" : "Add the statement", () => saveText(), {
    kind: "primary",
    title: "Ctrl+Enter",
  });
  const cancelAddress = replaces ? `#/statements/${encodeURIComponent(replaces)}` : "#/statements";
  const cancel = h("a", {
    class: "button quiet",
    href: cancelAddress,
    text: "Cancel",
    on: { click: () => drafts.forget(draft) },
  });
  const insert = button("Insert an example", () => editor.replaceText(example(store.state.streams)), { kind: "link" });
  const note = h("p", { class: "muted" });
  const streams = h("div", { class: "declarations" });
  const consequence = replaces
    ? "The changed statement begins with the next event; partial matches of the present one are dropped."
    : "A new statement begins with the next event.";
  const writing = h(
    "section",
    { class: "card", "aria-label": heading },
    place,
    h("div", { class: "actions" }, save, tryButton, cancel),
    note,
  );
  const element = h(
    "div",
    { class: "view" },
    h("p", { class: "crumbs" }, h("a", { href: "#/statements", text: "Statements" })),
    h("div", { class: "view-head" }, h("h1", { tabindex: "-1", text: heading })),
    h("div", { class: "pair editor-pair" }, writing, trial.element),
    section("Streams that it can read", {}, streams),
  );
  let editor = null;
  let busy = false;

  function begin(state) {
    const text = drafts.read(draft) ?? store.statement(replaces)?.text ?? "";
    editor = new StatementEditor({ text, replaces, changed: (now) => drafts.write(draft, now) });
    place.append(editor.element);
    if (!replaces) editor.head.append(insert);
    streams.replaceChildren(...streamDeclarations(state.streams));
  }

  async function tryText() {
    if (busy || !editor.text.trim()) return editor.field.focus();
    working(true);
    const error = await trial.run(editor.text, replaces);
    if (error?.body.errors?.length) editor.show({ ok: false, errors: error.body.errors });
    return working(false);
  }

  async function saveText() {
    if (busy || save.hidden) return;
    if (!editor.text.trim()) {
      editor.say("error", "There is no statement yet. Write one first.");
      editor.field.focus();
      return;
    }
    working(true);
    const before = new Set(store.state.statements.map(({ name }) => name)); // the live connection may bring the new one first
    try {
      const { state } = replaces ? await api.change(replaces, editor.text) : await api.add(editor.text);
      drafts.forget(draft);
      saved(state, before);
    } catch (error) {
      refused(error);
    } finally {
      working(false);
    }
  }

  function saved(state, before) {
    const fresh = state.statements.filter(({ name }) => !before.has(name)).map(({ name }) => name);
    store.receive("state", state);
    toast(replaces ? `${replaces} is changed.` : `${fresh.join(", ") || "The statement"} is added.`);
    const next = fresh[0] ?? replaces;
    location.hash = next ? `#/statements/${encodeURIComponent(next)}` : "#/statements";
  }

  function refused(error) {
    if (error.body?.errors?.length) editor.show({ ok: false, errors: error.body.errors });
    else editor.say("error", sentences(error.message, error.hint));
    editor.field.focus();
  }

  function working(now) {
    busy = now;
    for (const each of [save, tryButton]) each.setAttribute("aria-disabled", String(now));
  }

  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey || event.altKey)) return;
    event.preventDefault();
    if (event.altKey) tryText();
    else saveText();
  });

  return {
    element,
    title: heading,
    update() {
      const { state } = store;
      if (!state) return;
      if (!editor) begin(state);
      save.hidden = !state.can_change;
      setText(
        note,
        state.can_change
          ? consequence
          : state.change_note || "This server is read-only: statements can be checked and tried here, but not saved.",
      );
    },
    destroy: () => editor?.destroy(),
  };
}
