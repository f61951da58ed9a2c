// The colours of the language: tokens of a text, as spans.

import { h } from "./dom.js";

const KEYWORDS =
  "stream subscribe correlate for each from per match define as within having after hold consume longest skip past next to " +
  "first last return forecast events above losing of score independent published do time id order by ties simultaneous late " +
  "loss let null accumulate select sequential unless fail repeat persist loop parallel push when";
const WORDS = "and or not in between like is case then else end";
const CONSTANTS = "true false";
const TYPES = "bool int float string timestamp";
const UNITS = "us|microseconds?|ms|milliseconds?|s|secs?|seconds?|min|mins|minutes?|h|hours?|d|days?|weeks?";

const CLASSES = new Map(
  Object.entries({ keyword: KEYWORDS, operator: WORDS, constant: CONSTANTS, type: TYPES }).flatMap(([name, words]) =>
    words.split(" ").map((word) => [word, name]),
  ),
);

const TOKENS = new RegExp(
  [
    "(?<comment>--.*)",
    "(?<string>'(?:[^']|'')*'?)",
    '(?<name>"(?:[^"]|"")*"?)',
    "(?<member>\\.\\s*[\\p{L}_][\\p{L}\\p{N}_]*)",
    "(?<variable>[$:][\\p{L}_][\\p{L}\\p{N}_]*)",
    `(?<number>(?:\\d+(?:\\.\\d+)?|\\.\\d+)(?:[eE][+-]?\\d+)?(?:\\s*(?:${UNITS})\\b)?)`,
    "(?<call>[\\p{L}_][\\p{L}\\p{N}_]*(?=\\s*\\())",
    "(?<word>[\\p{L}_][\\p{L}\\p{N}_]*)",
    "(?<operator>[-=<>+*/%?!@|&;,]+)",
  ].join("|"),
  "giu",
);

function classOf(groups, text) {
  if (groups.word) return CLASSES.get(text.toLowerCase()) ?? "";
  if (groups.call) return CLASSES.get(text.toLowerCase()) ?? "function";
  return Object.keys(groups).find((name) => groups[name] !== undefined);
}

/** `[start, end, class]` of each token. */
function tokens(text) {
  const found = [];
  for (const match of text.matchAll(TOKENS))
    found.push([match.index, match.index + match[0].length, classOf(match.groups, match[0])]);
  return found;
}

/** Pieces of a text that have the same class and mark, in order. */
function pieces(text, marks) {
  const spans = tokens(text);
  const bounds = new Set([0, text.length]);
  for (const [start, end] of spans) bounds.add(start).add(end);
  for (const { start, end } of marks) bounds.add(start).add(end);
  for (let place = text.indexOf("\n"); place >= 0; place = text.indexOf("\n", place + 1))
    bounds.add(place).add(place + 1);
  const places = [...bounds].filter((place) => place <= text.length).sort((a, b) => a - b);
  let token = 0;
  return places.slice(0, -1).map((start, index) => {
    while (token < spans.length && spans[token][1] <= start) token += 1;
    const inside = token < spans.length && spans[token][0] <= start ? spans[token][2] : "";
    const mark = marks.find((candidate) => candidate.start <= start && start < candidate.end);
    return { text: text.slice(start, places[index + 1]), token: inside, mark: mark?.kind ?? "" };
  });
}

/** The lines of a text as elements; `marks` are `{start, end, kind}` in characters. */
export function highlighted(text, marks = []) {
  const lines = [h("span", { class: "line" })];
  for (const { text: piece, token, mark } of pieces(text, marks)) {
    if (piece === "\n") lines.push(h("span", { class: "line" }));
    else if (piece)
      lines
        .at(-1)
        .append(
          token || mark
            ? h("span", { class: `${token && `t-${token}`} ${mark && `mark-${mark}`}`, text: piece })
            : piece,
        );
  }
  return lines;
}

/** A statement to read. */
export function codeBlock(text, label) {
  return h(
    "pre",
    { class: "code-block", tabindex: "0", role: "region", "aria-label": label },
    h("code", {}, highlighted(text)),
  );
}

/** The place of a line and a column, both from 1, in a text. Columns count characters, not UTF-16 units. */
export function offsetOf(text, line, column) {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const units = [...(lines[line - 1] ?? "")].slice(0, Math.max(0, column - 1)).join("").length;
  return Math.min(text.length, before + units);
}
