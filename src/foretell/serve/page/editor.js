// The editor of a statement: a text field over its coloured copy, checked while one types.

import { api } from "./api.js";
import { button, h, icon, setAttribute } from "./dom.js";
import { plural, sentences } from "./format.js";
import { highlighted, offsetOf } from "./highlight.js";

const PAUSE_MILLISECONDS = 350;

export class StatementEditor {
  constructor({ text, replaces = null, changed }) {
    this.replaces = replaces;
    this.changed = changed;
    this.result = null;
    this.copy = h("pre", { class: "editor-copy", "aria-hidden": "true" });
    this.field = h("textarea", {
      id: "statement-text",
      class: "editor-field",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      wrap: "soft",
      "aria-describedby": "check-summary editor-keys",
      rows: "1",
      on: { input: () => this.input() },
    });
    this.field.value = text;
    this.summary = h("p", { id: "check-summary", class: "check-summary", role: "status" });
    this.problems = h("ol", { class: "problems", "aria-label": "Errors and findings" });
    const label = h("label", { for: "statement-text", class: "field-label", text: "Statement" });
    const keys = h("p", {
      id: "editor-keys",
      class: "muted keys",
      text: "Ctrl+Enter saves, Alt+Enter tries it, Tab leaves the field.",
    });
    const frame = h("div", { class: "editor" }, this.copy, this.field);
    this.head = h("div", { class: "field-head" }, label);
    this.element = h("div", { class: "editor-box" }, this.head, frame, keys, this.summary, this.problems);
    this.paint([]);
    if (text.trim()) this.check();
    else this.say("none", "Write a statement. It is checked while you type.");
  }

  get text() {
    return this.field.value;
  }

  destroy() {
    clearTimeout(this.timer);
    this.request?.abort();
  }

  input() {
    this.paint([]);
    this.changed(this.text);
    clearTimeout(this.timer);
    this.request?.abort();
    this.result = null;
    if (this.text.trim()) this.timer = setTimeout(() => this.check(), PAUSE_MILLISECONDS);
    else {
      this.problems.replaceChildren();
      this.say("none", "Write a statement. It is checked while you type.");
    }
  }

  /** Asks the server; true where the text has no errors. An answer about an older text counts no more. */
  async check() {
    clearTimeout(this.timer);
    this.request?.abort();
    const request = (this.request = new AbortController());
    const text = this.text;
    try {
      const result = await api.check(text, this.replaces, { signal: request.signal });
      if (request !== this.request || text !== this.text) return false;
      this.show(result);
      return result.ok;
    } catch (error) {
      if (error.name !== "AbortError") this.say("error", sentences(error.message, error.hint));
      return false;
    }
  }

  /** Errors of a check, or of a refused change. */
  show({ ok, errors = [], findings = [] }) {
    this.result = { ok, errors, findings };
    const items = [
      ...errors.map((error) => ({ ...error, kind: "error" })),
      ...findings.map((finding) => ({ ...finding, kind: "finding" })),
    ];
    this.paint(items);
    this.problems.replaceChildren(...items.map((item) => this.problem(item)));
    setAttribute(this.field, "aria-invalid", errors.length ? "true" : null);
    if (errors.length) this.say("error", `${plural(errors.length, "error")}: ${errors[0].message}`);
    else if (findings.length) this.say("finding", `No errors, ${plural(findings.length, "finding")}.`);
    else this.say("ok", "No errors.");
  }

  say(kind, text) {
    const symbols = { ok: "check", error: "error", finding: "warning" };
    if (this.summary.dataset.kind === kind && this.summary.textContent === text) return;
    this.summary.dataset.kind = kind;
    this.summary.replaceChildren(...(symbols[kind] ? [icon(symbols[kind])] : []), h("span", { text }));
  }

  paint(items) {
    const marks = items.filter(({ line }) => line > 0).map((item) => this.mark(item));
    this.copy.replaceChildren(...highlighted(this.text, marks));
  }

  mark({ line, column, end_column: endColumn, kind }) {
    const start = offsetOf(this.text, line, column);
    const end = Math.max(offsetOf(this.text, line, endColumn ?? column + 1), start + 1);
    // An error at the end of the text marks its last character.
    return start >= this.text.length
      ? { start: this.text.length - 1, end: this.text.length, kind }
      : { start, end, kind };
  }

  problem(item) {
    const where = item.line > 0 ? `Line ${item.line}, column ${item.column}` : "Whole text";
    const kind = item.kind === "error" ? "Error" : item.certain === false ? "Possible" : "Finding";
    const go = button(where, () => this.goTo(item), { kind: "link", title: "Go to this place" });
    const head = h(
      "p",
      { class: "problem-head" },
      h("span", { class: `problem-kind ${item.kind}`, text: kind }),
      item.line > 0 ? go : where,
    );
    if (item.code) head.append(h("code", { class: "muted", text: item.code }));
    const excerpt = this.excerpt(item);
    return h(
      "li",
      { class: `problem ${item.kind}` },
      head,
      h("p", { class: "problem-message", text: item.message }),
      excerpt && h("pre", { class: "excerpt", tabindex: "0", text: excerpt }),
      item.hint && h("p", { class: "hint", text: item.hint }),
    );
  }

  /** The line with its carets. */
  excerpt({ line, column, end_column: endColumn, excerpt }) {
    if (excerpt) return excerpt;
    const text = this.text.split("\n")[line - 1];
    if (!text) return "";
    const carets = "^".repeat(Math.max(1, (endColumn ?? column + 1) - column));
    return `${text}\n${" ".repeat(Math.max(0, column - 1))}${carets}`;
  }

  goTo({ line, column, end_column: endColumn }) {
    const start = offsetOf(this.text, line, column);
    this.field.focus();
    this.field.setSelectionRange(start, Math.max(start, offsetOf(this.text, line, endColumn ?? column)));
  }

  replaceText(text) {
    this.field.value = text;
    this.input();
    this.field.focus();
  }
}

/** What was typed survives a reload, and signing in again. */
export const drafts = {
  read: (name) => sessionStorage.getItem(`foretell-draft-${name}`),
  write: (name, text) => sessionStorage.setItem(`foretell-draft-${name}`, text),
  forget: (name) => sessionStorage.removeItem(`foretell-draft-${name}`),
};
