// Elements made from data. A text always becomes a text node, never markup; an address is always one of this page.

const SVG = "http://www.w3.org/2000/svg";

function assign(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "text") element.textContent = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
}

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  assign(element, properties);
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export function s(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  assign(element, properties);
  element.append(...children.flat(Infinity).filter(Boolean));
  return element;
}

export function icon(name) {
  return s("svg", { class: "icon", "aria-hidden": "true" }, s("use", { href: `#icon-${name}` }));
}

/** Icons become part of the page, so that they are there when the server is not. */
export async function loadIcons() {
  const response = await fetch("/assets/icons.svg");
  if (!response.ok) return;
  const symbols = new DOMParser().parseFromString(await response.text(), "image/svg+xml").querySelectorAll("symbol");
  for (const symbol of symbols) symbol.id = `icon-${symbol.id}`;
  document.body.append(s("svg", { class: "icons", "aria-hidden": "true", width: 0, height: 0 }, [...symbols]));
}

export function button(label, listener, { kind = "", symbol = null, ...properties } = {}) {
  const children = symbol ? [icon(symbol), h("span", { text: label })] : [h("span", { text: label })];
  return h("button", { type: "button", class: kind, on: { click: listener }, ...properties }, ...children);
}

/** A control of a toolbar with its label before it. */
export function labelled(label, control) {
  return h("div", { class: "filter" }, h("label", { for: control.id, text: label }), control);
}

/** Writes only what differs: an equal text would still cost a repaint and end a selection. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value === null || value === false || value === undefined) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** The children of `parent` follow `items`: an element for each key, kept with its focus while the key stays. */
export function keyed(parent, { key, create, update }) {
  const elements = new Map();
  return (items) => {
    const present = new Set();
    let place = parent.firstElementChild;
    for (const item of items) {
      const name = key(item);
      if (present.has(name)) continue;
      present.add(name);
      let element = elements.get(name);
      if (!element) elements.set(name, (element = create(item)));
      update(element, item);
      if (element === place) place = place.nextElementSibling;
      else parent.insertBefore(element, place);
    }
    for (const [name, element] of elements) {
      if (present.has(name)) continue;
      element.remove();
      elements.delete(name);
    }
  };
}

/** What an empty place says: how it is, and what to do. */
export function emptyState(title, ...hints) {
  return h(
    "div",
    { class: "empty" },
    h("p", { class: "empty-title", text: title }),
    ...hints.map((hint) => h("p", {}, hint)),
  );
}

export function section(title, properties, ...children) {
  const id = `section-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const { aside = null, ...others } = properties;
  const heading = h("div", { class: "section-head" }, h("h2", { id, text: title }), aside);
  return h("section", { "aria-labelledby": id, ...others, class: `card ${others.class ?? ""}` }, heading, ...children);
}
