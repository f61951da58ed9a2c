// The diagrams of correlators and of patterns with lost steps come as mermaid text, in the two forms that Foretell writes:
// states with labelled edges, and circles with boxes between them. Read into states and edges, they are drawn as all others.

const EDGE = /^(\S+) -(?:\.-|-)> (\S+)(?: : (.*))?$/;
const NODE = /^(\w+)(\(\(\(|\(\(|\[)"(.*)"(?:\)\)\)|\)\)|\])$/;
const OUTSIDE = "[*]";

const plain = (text) =>
  text
    .replaceAll("#quot;", '"')
    .replaceAll("#lt;", "<")
    .replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));

function newState(id, label, more = {}) {
  return { id, label, detail: "", start: false, final: false, box: false, partial_matches: null, ...more };
}

function readNode([, id, bracket, text]) {
  const [label, ...details] = plain(text).split("<br/>");
  return newState(id, label, { detail: details.join(", "), start: bracket === "(((", box: bracket === "[" });
}

/** `{states, edges}` of a diagram; what is neither a state nor an edge is left out. */
export function readDiagram(text) {
  const states = new Map();
  const edges = [];
  const known = (id, isSource) => {
    const name = id === OUTSIDE ? (isSource ? "begin" : "match") : id;
    if (!states.has(name))
      states.set(name, newState(name, name, { start: id === OUTSIDE && isSource, final: id === OUTSIDE && !isSource }));
    return name;
  };
  for (const line of text.split("\n").map((each) => each.trim())) {
    const node = NODE.exec(line);
    if (node) states.set(node[1], readNode(node));
    const edge = EDGE.exec(line);
    if (!edge) continue;
    edges.push({
      source: known(edge[1], true),
      target: known(edge[2], false),
      label: plain(edge[3] ?? ""),
      probability: null,
    });
  }
  return { states: [...states.values()], edges };
}
