// All statements, and the way to a new one.

import { h, icon, section } from "./dom.js";
import { highlighted } from "./highlight.js";
import { statementTable } from "./statement_table.js";

export function addLink(state) {
  if (!state) return null;
  if (state.can_change)
    return h("a", { class: "button primary", href: "#/new" }, icon("plus"), h("span", { text: "Add a statement" }));
  const why = state.read_only
    ? "This server is read-only; start it without --read-only to add statements."
    : state.change_note;
  return h(
    "span",
    {},
    h("a", { class: "button", href: "#/new", text: "Check or try a statement" }),
    h("p", { class: "muted", text: why }),
  );
}

/** The declarations that a new statement may use. */
export function streamDeclarations(streams) {
  return streams.map(({ name, text }) =>
    h(
      "div",
      { class: "declaration" },
      text
        ? h("pre", { class: "code-block small" }, h("code", {}, highlighted(text)))
        : h("p", {}, h("b", { text: name }), " (without a STREAM statement)"),
    ),
  );
}

export function createView({ store }) {
  const table = statementTable();
  const action = h("div", { class: "view-action" });
  const declarations = h("div", { class: "declarations" });
  const element = h(
    "div",
    { class: "view" },
    h("div", { class: "view-head" }, h("h1", { tabindex: "-1", text: "Statements" }), action),
    section("Running statements", {}, table.element),
    section("Streams that statements can read", {}, declarations),
  );
  let declared = null;
  let permitted = null;

  return {
    element,
    title: "Statements",
    update(changed) {
      const { state } = store;
      if (!state || !changed.has("state")) return;
      table.update(state.statements);
      const permission = JSON.stringify([state.can_change, state.change_note]);
      if (permission !== permitted) action.replaceChildren(addLink(state));
      permitted = permission;
      const texts = JSON.stringify(state.streams.map(({ name, text }) => [name, text]));
      if (texts !== declared) declarations.replaceChildren(...streamDeclarations(state.streams));
      declared = texts;
    },
    destroy() {},
  };
}
