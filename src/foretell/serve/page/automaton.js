// The picture of an automaton: states with their partial matches, edges with their conditions, and both as tables.

import { emptyState, h, s, setAttribute, setText } from "./dom.js";
import { compact, count, percent, plural } from "./format.js";
import { LABEL_LINE, NAME_CHARACTERS, NODE_HEIGHT, layout, shortened, stateLabel } from "./layout.js";
import { readDiagram } from "./mermaid.js";
import { dataTable } from "./table.js";

const MOST_DRAWN = 80;

export class AutomatonPicture {
  constructor() {
    this.scroller = h("div", {
      class: "automaton",
      tabindex: "0",
      role: "region",
      "aria-label": "Picture of the automaton",
    });
    this.note = h("p", { class: "muted note" });
    this.states = dataTable({
      label: "States",
      key: (state) => state.id,
      columns: [
        { id: "state", label: "State", render: ({ id }) => this.labelOf(id) },
        { id: "waits", label: "Meaning", render: ({ label, detail }) => detail || label },
        { id: "role", label: "Role", render: roleText },
        { id: "partial", label: "Partial matches", numeric: true, render: (state) => count(state.partial_matches) },
      ],
    });
    this.edges = dataTable({
      label: "Edges",
      key: (edge) => JSON.stringify([edge.source, edge.target, edge.label]),
      columns: [
        { id: "from", label: "From", render: ({ source }) => this.labelOf(source) },
        { id: "to", label: "To", render: ({ target }) => this.labelOf(target) },
        { id: "when", label: "When", code: true, render: ({ label }) => label || "–" },
        { id: "probability", label: "Probability", numeric: true, render: ({ probability }) => percent(probability) },
      ],
    });
    const tables = h("div", { class: "pair" }, this.states.element, this.edges.element);
    this.tables = h("details", { class: "as-table" }, h("summary", { text: "States and edges as tables" }), tables);
    this.element = h("div", {}, this.scroller, this.note, this.tables);
    this.drawn = "";
    for (const part of [this.scroller, this.tables]) part.hidden = true;
  }

  update(given) {
    const automaton = given.states.length || !given.mermaid ? given : { ...given, ...readDiagram(given.mermaid) };
    this.automaton = automaton;
    const { states, edges, note } = automaton;
    setText(this.note, note ?? "");
    this.note.hidden = !note;
    this.tables.hidden = !states.length;
    this.states.update(states);
    this.edges.update(edges);
    const form = JSON.stringify([states.map(({ id, label, start, final }) => [id, label, start, final]), edges]);
    if (form !== this.drawn) this.draw(form);
    this.countPartialMatches(states);
  }

  labelOf(id) {
    const state = this.automaton.states.find((candidate) => candidate.id === id);
    return state ? stateLabel(state, this.automaton.edges) : String(id);
  }

  draw(form) {
    this.drawn = form;
    this.counts = new Map();
    const { states } = this.automaton;
    this.scroller.hidden = !states.length && Boolean(this.automaton.note);
    if (!states.length) this.scroller.replaceChildren(emptyState("This statement has no automaton."));
    else if (states.length > MOST_DRAWN) this.scroller.replaceChildren(this.tooLarge(states.length));
    else this.scroller.replaceChildren(this.picture());
  }

  tooLarge(number) {
    this.tables.open = true;
    return emptyState(`${count(number)} states are too many for a picture.`, "The tables below list them all.");
  }

  picture() {
    const { nodes, edges, width, height } = layout(this.automaton);
    const markers = ["arrow", "arrow-lit"].map((id) =>
      s(
        "marker",
        { id, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        s("path", { d: "M0 0L8 4L0 8Z" }),
      ),
    );
    const drawing = {
      class: "automaton-svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": this.summary(),
    };
    // Labels come last, so that no line runs through one.
    const lines = edges.map((edge) => ({ edge, line: edgeLine(edge), label: edgeLabel(edge) }));
    const boxes = nodes.map((node) => this.node(node, lines));
    return s(
      "svg",
      drawing,
      s("defs", {}, markers),
      lines.map(({ line }) => line),
      boxes,
      lines.map(({ label }) => label),
    );
  }

  node({ state, x, y, width }, lines) {
    const box = {
      x: x - width / 2,
      y: y - NODE_HEIGHT / 2,
      width,
      height: NODE_HEIGHT,
      rx: state.box ? 4 : NODE_HEIGHT / 2,
    };
    const inner = {
      x: box.x + 3.5,
      y: box.y + 3.5,
      width: width - 7,
      height: NODE_HEIGHT - 7,
      rx: NODE_HEIGHT / 2 - 3.5,
    };
    const number = s("text", { x, y: y + 14, class: "state-count" });
    const label = s("text", { x, y: y + 5, class: "state-label", text: shortened(state.name, NAME_CHARACTERS) });
    const title = s("title");
    const group = s(
      "g",
      {
        class: ["state", state.final && "final", state.start && "start", state.box && "transition"]
          .filter(Boolean)
          .join(" "),
      },
      title,
      s("rect", { ...box, class: "box" }),
    );
    if (state.final) group.append(s("rect", { ...inner, class: "inner" }));
    if (state.start)
      group.append(s("path", { class: "edge", d: `M${box.x - 26} ${y}H${box.x - 3}`, "marker-end": "url(#arrow)" }));
    group.append(label, number);
    this.counts.set(state.id, { group, number, label, title, y });
    const light = (lit) => () => {
      for (const { edge, line, label: text } of lines) {
        const near = edge.source === state.id || edge.target === state.id;
        line.classList.toggle("lit", lit && near);
        text.classList.toggle("lit", lit && near);
        setAttribute(line, "marker-end", lit && near ? "url(#arrow-lit)" : "url(#arrow)");
      }
    };
    group.addEventListener("pointerenter", light(true));
    group.addEventListener("pointerleave", light(false));
    return group;
  }

  countPartialMatches(states) {
    for (const state of states) {
      const parts = this.counts.get(state.id);
      if (!parts) continue;
      const number = state.partial_matches;
      const shown = typeof number === "number" && number > 0;
      setText(parts.number, shown ? compact(number) : "");
      setAttribute(parts.label, "y", shown ? parts.y - 2 : parts.y + 5);
      parts.group.classList.toggle("occupied", shown);
      const partial = typeof number === "number" ? `: ${plural(number, "partial match", "partial matches")}` : "";
      setText(parts.title, `${this.labelOf(state.id)} (${state.detail || state.label})${partial}`);
    }
  }

  summary() {
    const { states, edges } = this.automaton;
    const steps = `${plural(states.length, "state")} and ${plural(edges.length, "edge")}`;
    return `Automaton with ${steps}. The tables below the picture have the same in words.`;
  }
}

function roleText({ start, final, box }) {
  if (box) return "transition";
  if (start) return final ? "start, match" : "start";
  return final ? "match" : "between";
}

function edgeLine({ path }) {
  return s("path", { class: "edge", d: path, "marker-end": "url(#arrow)" });
}

function edgeLabel(edge) {
  const lines = edge.lines.map((text, index) =>
    s("tspan", { x: edge.labelX, y: edge.labelY + index * LABEL_LINE, text }),
  );
  const full = edge.members.map(
    ({ label, probability }) => `${label}${probability === null ? "" : ` (${percent(probability)})`}`,
  );
  const text = s("text", { class: "edge-label" }, s("title", { text: full.join("\n") }), lines);
  if (!edge.sloped || !edge.labelWidth) return text;
  const box = {
    x: edge.labelX - edge.labelWidth / 2 - 4,
    y: edge.labelY - 13,
    width: edge.labelWidth + 8,
    height: edge.lines.length * LABEL_LINE + 4,
  };
  return s("g", {}, s("rect", { ...box, class: "label-ground", rx: 3 }), text);
}
