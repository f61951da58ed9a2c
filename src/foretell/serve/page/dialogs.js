// Dialogs: a question before something is lost, and the help. The browser keeps the focus within and Escape closes them.

import { button, h } from "./dom.js";

function open(dialog) {
  const before = document.activeElement;
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus?.();
      resolve(dialog.returnValue);
    });
  });
}

/** True where the user confirms. The harmless answer has the focus. */
export async function confirmed({ title, text, action }) {
  const dialog = h("dialog", { "aria-labelledby": "dialog-title", "aria-describedby": "dialog-text" });
  const cancel = button("Cancel", () => dialog.close("no"), { autofocus: true });
  const confirm = button(action, () => dialog.close("yes"), { kind: "danger" });
  dialog.append(
    h("h2", { id: "dialog-title", text: title }),
    h("p", { id: "dialog-text", text }),
    h("div", { class: "actions" }, cancel, confirm),
  );
  return (await open(dialog)) === "yes";
}

const KEYS = [
  ["1 … 5", "Overview, Statements, Notifications, Forecasts, Set aside"],
  ["n", "Add a statement"],
  ["p", "Pause or go on with the notifications"],
  ["↑ ↓ Home End", "Move in the list of notifications; Enter opens one"],
  ["← →", "Read the values of a curve"],
  ["Ctrl+Enter", "Save the statement that you are writing"],
  ["Alt+Enter", "Try it on the last hour's events"],
  ["?", "This help"],
];

export function help({ shortcuts, switchShortcuts }) {
  const rows = KEYS.map(([keys, meaning]) => [h("dt", {}, h("kbd", { text: keys })), h("dd", { text: meaning })]);
  const box = h("input", { type: "checkbox", id: "shortcuts", on: { change: () => switchShortcuts(box.checked) } });
  box.checked = shortcuts;
  const choice = h("label", { for: "shortcuts", class: "choice" }, box, "Shortcuts with a single key");
  const dialog = h("dialog", { class: "wide", "aria-labelledby": "dialog-title" });
  const close = button("Close", () => dialog.close(), { kind: "primary", autofocus: true });
  const times =
    "Times of events are in UTC, as in all of Foretell; the exact value shows when you point at one. " +
    "The times at which this page received something are in your time zone.";
  dialog.append(
    h("h2", { id: "dialog-title", text: "Keyboard and help" }),
    h("dl", { class: "key-list" }, rows),
    choice,
    h("p", { class: "muted", text: times }),
    h("div", { class: "actions" }, close),
  );
  return open(dialog);
}

/** A short message that goes away by itself, unless one reads it. */
export function toast(text, kind = "ok") {
  const element = h("div", { class: `toast ${kind}` }, h("span", { text }));
  element.append(button("Dismiss", () => element.remove(), { kind: "quiet small" }));
  const place = document.getElementById("toasts");
  place.append(element);
  while (place.children.length > 3) place.firstElementChild.remove();
  const leave = () => (element.matches(":hover, :focus-within") ? setTimeout(leave, 2000) : element.remove());
  setTimeout(leave, kind === "error" ? 15_000 : 6000);
}
