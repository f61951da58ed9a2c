// A table whose rows follow data. Roles are explicit, since narrow screens lay the rows out as cards.

import { emptyState, h, keyed, setAttribute, setText } from "./dom.js";

/**
 * `columns`: `{id, label, render(row) → text or Node, numeric, code, link(row), title(row), hidden(rows)}`. A cell keeps its
 * element, so that focus and selection survive an update.
 */
export function dataTable({ label, columns, key, empty = null, rowClass = null }) {
  const heads = columns.map((column) =>
    h("th", { scope: "col", role: "columnheader", class: cellClass(column), text: column.label }),
  );
  const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, heads));
  const body = h("tbody", { role: "rowgroup" });
  const table = h("table", { role: "table", "aria-label": label }, head, body);
  const nothing = empty ?? emptyState(`No ${label.toLowerCase()}.`);
  table.hidden = true; // until it is known whether there are rows
  nothing.hidden = true;
  const element = h("div", { class: "table" }, table, nothing);
  focusableWhenScrolling(element, table, label);
  const follow = keyed(body, { key, create: () => newRow(columns), update: fillRow });

  function fillRow(row, item) {
    if (rowClass) setAttribute(row, "class", rowClass(item) || null);
    for (const { column, cell, content } of row.cells_) {
      const shown = column.render(item);
      if (shown instanceof Node) {
        if (content.firstChild !== shown || content.childNodes.length !== 1) content.replaceChildren(shown);
      } else setText(content, shown);
      if (column.numeric) cell.classList.toggle("zero", shown === "0");
      if (column.link) setAttribute(content, "href", column.link(item));
      if (column.title) setAttribute(cell, "title", column.title(item));
    }
  }

  function update(items) {
    follow(items);
    table.hidden = items.length === 0;
    nothing.hidden = items.length > 0;
    columns.forEach((column, index) => {
      if (!column.hidden) return;
      const hide = column.hidden(items);
      heads[index].hidden = hide;
      for (const row of body.children) row.cells_[index].cell.hidden = hide;
    });
  }

  return { element, update };
}

/** A table that scrolls can be scrolled with the keyboard. */
function focusableWhenScrolling(element, table, label) {
  const watch = new ResizeObserver(() => {
    const scrolls = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
    setAttribute(element, "tabindex", scrolls ? "0" : null);
    setAttribute(element, "role", scrolls ? "region" : null);
    setAttribute(element, "aria-label", scrolls ? label : null);
  });
  watch.observe(element);
  watch.observe(table);
}

function cellClass(column) {
  return [column.numeric && "numeric", column.code && "code", `column-${column.id}`].filter(Boolean).join(" ");
}

function newRow(columns) {
  const row = h("tr", { role: "row" });
  row.cells_ = columns.map((column) => {
    const content = h(column.link ? "a" : "span");
    const cell = h("td", { role: "cell", class: cellClass(column), data: { label: column.label } }, content);
    row.append(cell);
    return { column, cell, content };
  });
  return row;
}
