// A layered layout of an automaton, left to right (Sugiyama's steps): edges that lead back are found and set apart, states get
// layers by their longest way from a start, long edges get waypoints in the layers between, and a few sweeps of barycentres
// order each layer.

const SWEEPS = 8;
const ROW = 74;
const LEVEL = 40;
const MARGIN = 26;
const NODE_HEIGHT = 42;
const CHARACTER = 6.7;
const LABEL_CHARACTERS = 34;
const LABEL_LINES = 3;
const NAME_CHARACTERS = 28;
const LABEL_LINE = 15;

export function shortened(text, most = LABEL_CHARACTERS) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Edges between the same two states become one, with a label of several lines. */
function merged(edges) {
  const groups = new Map();
  for (const edge of edges) {
    const name = JSON.stringify([edge.source, edge.target]);
    if (!groups.has(name)) groups.set(name, { source: edge.source, target: edge.target, members: [] });
    groups.get(name).members.push(edge);
  }
  return [...groups.values()];
}

/** The edges that close a cycle in a depth-first walk from the starts, and all that lead to a start: these stand on the left. */
function backEdges(states, edges) {
  const outgoing = new Map(states.map(({ id }) => [id, []]));
  for (const edge of edges) outgoing.get(edge.source).push(edge);
  const starts = new Set(states.filter(({ start }) => start).map(({ id }) => id));
  const [open, done, back] = [new Set(), new Set(), new Set()];
  const walk = (id) => {
    open.add(id);
    for (const edge of outgoing.get(id)) {
      if (open.has(edge.target) || starts.has(edge.target)) back.add(edge);
      else if (!done.has(edge.target)) walk(edge.target);
    }
    open.delete(id);
    done.add(id);
  };
  for (const { id } of [...states].sort((a, b) => Number(b.start) - Number(a.start))) if (!done.has(id)) walk(id);
  return back;
}

/** Each state's longest way over forward edges. */
function layersOf(states, forward) {
  const layers = new Map(states.map(({ id }) => [id, 0]));
  for (let round = 0; round < states.length; round += 1) {
    let moved = false;
    for (const { source, target } of forward) {
      if (layers.get(target) > layers.get(source)) continue;
      layers.set(target, layers.get(source) + 1);
      moved = true;
    }
    if (!moved) break;
  }
  return layers;
}

function withWaypoints(states, forward, layers) {
  const nodes = new Map(
    states.map((state) => [state.id, { id: state.id, state, layer: layers.get(state.id), before: [], after: [] }]),
  );
  for (const edge of forward) {
    edge.chain = [nodes.get(edge.source)];
    for (let layer = layers.get(edge.source) + 1; layer < layers.get(edge.target); layer += 1) {
      const waypoint = { id: Symbol("waypoint"), state: null, layer, before: [], after: [] };
      nodes.set(waypoint.id, waypoint);
      edge.chain.push(waypoint);
    }
    edge.chain.push(nodes.get(edge.target));
    for (let place = 1; place < edge.chain.length; place += 1) {
      edge.chain[place - 1].after.push(edge.chain[place]);
      edge.chain[place].before.push(edge.chain[place - 1]);
    }
  }
  const columns = [];
  for (const node of nodes.values()) (columns[node.layer] ??= []).push(node);
  return columns.map((column) => column ?? []);
}

function order(columns) {
  const place = (column) => column.forEach((node, index) => (node.place = index - (column.length - 1) / 2));
  columns.forEach(place);
  const mean = (neighbours, own) =>
    neighbours.length ? neighbours.reduce((sum, node) => sum + node.place, 0) / neighbours.length : own;
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const side = sweep % 2 ? "after" : "before";
    for (const column of sweep % 2 ? [...columns].reverse() : columns) {
      const wish = new Map(column.map((node) => [node, mean(node[side], node.place)]));
      column.sort((a, b) => wish.get(a) - wish.get(b));
      place(column);
    }
  }
}

export function labelLines(edge) {
  const texts = edge.members.map(({ label, probability }) => {
    const share = typeof probability === "number" ? ` ${Math.round(probability * 100)}%` : "";
    return `${shortened(label ?? "")}${share}`;
  });
  if (texts.length <= LABEL_LINES) return texts;
  return [...texts.slice(0, LABEL_LINES - 1), `and ${texts.length - LABEL_LINES + 1} more`];
}

/** How a state is reached: “after s1”. Its own label, what it waits for, is too long for a picture. */
export function stateLabel(state, edges) {
  if (state.start || state.final) return state.label;
  const steps = edges
    .filter(({ source, target }) => target === state.id && source !== state.id)
    .map(({ step }) => step);
  const names = [...new Set(steps)];
  return names.length && names.every(Boolean) ? `after ${names.join(" or ")}` : state.label;
}

const textWidth = (lines) => Math.max(0, ...lines.map((line) => line.length)) * CHARACTER;

const nodeWidth = (state) => Math.max(58, shortened(state.name, NAME_CHARACTERS).length * 7.4 + 26);

/** Columns as wide as their widest state, gaps as wide as the labels of the edges that leave there. */
function placeColumns(columns, forward, loops) {
  const widths = columns.map((column) =>
    Math.max(58, ...column.filter(({ state }) => state).map(({ state }) => nodeWidth(state))),
  );
  const gaps = columns.map(() => 64);
  for (const edge of forward)
    gaps[edge.chain[0].layer] = Math.max(gaps[edge.chain[0].layer], textWidth(edge.lines) + 46);
  for (const edge of loops) {
    const overhang = (textWidth(edge.lines) - widths[edge.layer]) / 2 + 12;
    gaps[edge.layer] = Math.max(gaps[edge.layer], overhang + 30);
  }
  const lead = Math.max(
    30,
    ...loops.filter(({ layer }) => layer === 0).map((edge) => (textWidth(edge.lines) - widths[0]) / 2),
  );
  let x = MARGIN + lead;
  return columns.map((column, layer) => {
    const centre = x + widths[layer] / 2;
    x += widths[layer] + gaps[layer];
    return { centre, right: centre + widths[layer] / 2 };
  });
}

function placeNodes(columns, forward, loops) {
  const places = placeColumns(columns, forward, loops);
  const space = loops.length ? ROW + 34 : ROW;
  for (const [layer, column] of columns.entries())
    for (const node of column) {
      node.x = places[layer].centre;
      node.y = node.place * space;
      node.width = node.state ? nodeWidth(node.state) : 0;
    }
  return Math.max(...places.map(({ right }) => right));
}

/** Backward edges run below everything, short ones above long ones, and come up side by side. */
function placeBackEdges(back, nodes, bottom) {
  const sorted = [...back].sort((a, b) => span(a, nodes) - span(b, nodes));
  const ends = new Map();
  let level = bottom + 22;
  for (const edge of sorted) {
    edge.rank = ends.get(edge.target) ?? 0;
    ends.set(edge.target, edge.rank + 1);
    level += textWidth(edge.lines) ? Math.max(LEVEL, edge.lines.length * LABEL_LINE + 16) : LEVEL / 2;
    edge.level = level;
  }
  return sorted.length ? level + 14 : bottom;
}

const span = (edge, nodes) => Math.abs(nodes.get(edge.source).x - nodes.get(edge.target).x);

/** `{nodes, edges, width, height}`; an edge has `lines`, a `path`, and the place of its label. */
export function layout({ states: given, edges }) {
  const states = given.map((state) => ({ ...state, name: stateLabel(state, edges) }));
  const known = new Set(states.map(({ id }) => id));
  const all = merged(edges.filter(({ source, target }) => known.has(source) && known.has(target)));
  for (const edge of all) edge.lines = labelLines(edge);
  const loops = all.filter(({ source, target }) => source === target);
  const proper = all.filter(({ source, target }) => source !== target);
  const back = backEdges(states, proper);
  const forward = proper.filter((edge) => !back.has(edge));
  const columns = withWaypoints(states, forward, layersOf(states, forward));
  order(columns);
  const nodes = new Map(columns.flat().map((node) => [node.id, node]));
  for (const edge of loops) edge.layer = nodes.get(edge.source).layer;
  const right = placeNodes(columns, forward, loops);
  const ys = columns.flat().map(({ y }) => y);
  const above = loops.length ? 42 + Math.max(...loops.map(({ lines }) => lines.length)) * LABEL_LINE : 12;
  const labelled = Math.max(1, ...forward.map(({ lines }) => lines.length)) * LABEL_LINE;
  const top = Math.min(...ys) - NODE_HEIGHT / 2 - Math.max(above, labelled);
  const bottom = placeBackEdges(back, nodes, Math.max(...ys) + NODE_HEIGHT / 2);
  for (const node of nodes.values()) node.y -= top - 6;
  for (const edge of back) edge.level -= top - 6;
  for (const edge of forward) routeForward(edge);
  for (const edge of loops) routeLoop(edge, nodes);
  for (const edge of back) routeBack(edge, nodes, columns);
  const loopRight = Math.max(0, ...loops.map((edge) => edge.labelX + textWidth(edge.lines) / 2));
  const drawn = columns.flat().filter(({ state }) => state);
  return { nodes: drawn, edges: all, width: Math.max(right, loopRight) + MARGIN, height: bottom - top + 18 };
}

function routeForward(edge) {
  const [first, ...rest] = edge.chain;
  const last = rest.at(-1);
  const stops = [
    [first.x + first.width / 2, first.y],
    ...rest.slice(0, -1).map(({ x, y }) => [x, y]),
    [last.x - last.width / 2 - 3, last.y],
  ];
  let path = `M${stops[0][0]} ${stops[0][1]}`;
  for (let place = 1; place < stops.length; place += 1) {
    const [[fromX, fromY], [toX, toY]] = [stops[place - 1], stops[place]];
    const half = (toX - fromX) / 2;
    path += `C${fromX + half} ${fromY} ${toX - half} ${toY} ${toX} ${toY}`;
  }
  const [[fromX, fromY], [toX, toY]] = stops;
  edge.path = path;
  edge.labelX = (fromX + toX) / 2;
  // Above a level line; on a slope the label interrupts the line.
  edge.sloped = Math.abs(toY - fromY) >= 12;
  edge.labelWidth = textWidth(edge.lines);
  const rise = !edge.sloped ? 7 + (edge.lines.length - 1) * LABEL_LINE : ((edge.lines.length - 1) * LABEL_LINE) / 2 - 4;
  edge.labelY = (fromY + toY) / 2 - rise;
}

function routeLoop(edge, nodes) {
  const { x, y, width } = nodes.get(edge.source);
  const reach = Math.min(20, width / 3);
  const edgeY = y - NODE_HEIGHT / 2;
  edge.path = `M${x - reach} ${edgeY}C${x - reach - 10} ${edgeY - 36} ${x + reach + 10} ${edgeY - 36} ${x + reach} ${edgeY - 3}`;
  edge.labelX = x;
  edge.labelY = edgeY - 34 - (edge.lines.length - 1) * LABEL_LINE;
}

const free = (node, columns) => columns[node.layer].every((other) => other.y <= node.y);

/** Down from the source, along a level below everything, and up to the target; beside a column whose lower states are in the way. */
function routeBack(edge, nodes, columns) {
  const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
  const below = NODE_HEIGHT / 2;
  const shift = Math.min(10 + edge.rank * 9, target.width / 2 - 8);
  const sourceFree = free(source, columns);
  const targetFree = free(target, columns);
  const sourceX = sourceFree ? source.x - Math.min(8, source.width / 4) : source.x + source.width / 2 + 16;
  const targetX = targetFree ? target.x + shift : target.x - target.width / 2 - 16 - edge.rank * 6;
  const start = sourceFree
    ? `M${sourceX} ${source.y + below}`
    : `M${source.x + source.width / 2 - 4} ${source.y + 12}Q${sourceX} ${source.y + 16} ${sourceX} ${source.y + 36}`;
  const end = targetFree
    ? `V${target.y + below + 3}`
    : `V${target.y + 40}Q${targetX} ${target.y + 18} ${target.x - target.width / 2 + 1} ${target.y + 13}`;
  const way = Math.sign(targetX - sourceX) || -1;
  const turn = Math.min(16, Math.abs(targetX - sourceX) / 2);
  const { level } = edge;
  const down = `V${level - 16}Q${sourceX} ${level} ${sourceX + way * turn} ${level}`;
  const up = `H${targetX - way * turn}Q${targetX} ${level} ${targetX} ${level - 16}`;
  edge.path = start + down + up + end;
  edge.labelX = (sourceX + targetX) / 2;
  edge.labelY = edge.level - 6 - (edge.lines.length - 1) * LABEL_LINE;
}

export { LABEL_LINE, NAME_CHARACTERS, NODE_HEIGHT };
