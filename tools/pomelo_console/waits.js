// Sessions as boxes, with an arrow from each that waits to each that it waits for, which stands to its left.

import {element, nodeName, remedy} from "./console.js";

const SVG = "http://www.w3.org/2000/svg", MOST = 40, HEIGHT = 58, GAP = 14, BETWEEN = 46;

function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// How many sessions a session waits for, one behind the other; one that waits for itself by others counts once.
function depth(id, edges, above = new Set()) {
  if (above.has(id)) return 0;
  const next = edges.filter(edge => edge.waiting_gpid === id);
  return next.length ? 1 + Math.max(...next.map(edge => depth(edge.blocking_gpid, edges, new Set([...above, id])))) : 0;
}

function sessionsOf(edges) {
  const found = new Map();
  const add = (id, node, role, text, state) => found.set(id, {...found.get(id), id, node, role, text, ...(state && {state})});
  for (const edge of edges) {
    add(edge.waiting_gpid, edge.waiting_nodeid, edge.waiting_role, edge.waiting_statement);
    add(edge.blocking_gpid, edge.blocking_nodeid, edge.blocking_role, edge.blocking_statement, edge.blocking_state);
  }
  return [...found.values()].slice(0, MOST);
}

function cut(text, width) {
  const most = Math.floor(width / 7) - 3;
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

export function waitGraph(rows) {
  const edges = rows.filter(row => row.waiting_gpid !== row.blocking_gpid), sessions = sessionsOf(edges), columns = [];
  for (const session of sessions) {
    session.depth = depth(session.id, edges);
    session.row = (columns[session.depth] = columns[session.depth] ?? []).push(session) - 1;
  }
  const within = document.querySelector("#waits .content").clientWidth, deep = columns.length;
  const width = Math.max(140, Math.min(360, (within - (deep - 1) * BETWEEN - 4) / deep));
  const x = session => 2 + session.depth * (width + BETWEEN), y = session => 2 + session.row * (HEIGHT + GAP);
  const svg = drawn("svg", {width: deep * (width + BETWEEN) - BETWEEN + 4, height: Math.max(...columns.map(column => column?.length ?? 0)) * (HEIGHT + GAP),
    role: "img", "aria-label": `${edges.length} waits`});
  const marker = drawn("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto"});
  marker.append(drawn("path", {d: "M0 0 L8 4 L0 8 z"}));
  svg.append(marker);
  const byId = new Map(sessions.map(session => [session.id, session]));
  for (const edge of edges) {
    const from = byId.get(edge.waiting_gpid), to = byId.get(edge.blocking_gpid);
    if (!from || !to) continue;
    const [x1, y1, x2, y2] = [x(from), y(from) + HEIGHT / 2, x(to) + width, y(to) + HEIGHT / 2], bend = Math.max(20, Math.abs(x1 - x2) / 2);
    svg.append(drawn("path", {d: `M${x1} ${y1} C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}`, "marker-end": "url(#arrow)"}));
  }
  for (const session of sessions) {
    const group = drawn("g", {class: session.depth ? "" : "blocks", transform: `translate(${x(session)} ${y(session)})`});
    group.append(drawn("title", {}, `${session.id}, ${session.role ?? "?"}: ${session.text ?? ""}`), drawn("rect", {width, height: HEIGHT, rx: 4}));
    group.append(drawn("text", {x: 8, y: 17}, cut(`${session.role ?? "?"} · ${nodeName(session.node)}`, width)));
    group.append(drawn("text", {x: 8, y: 34, class: "dim"}, cut(`${session.id}${session.state ? ` · ${session.state}` : ""}`, width)));
    group.append(drawn("text", {x: 8, y: 50}, cut(session.text ?? "", width)));
    svg.append(group);
  }
  const made = element("div", undefined, "graph"), parts = [made];
  made.append(svg);
  for (const session of columns[0] ?? []) {
    const active = session.state === "active";
    parts.push(element("p", `${active ? "Cancels the statement" : "Ends the session"} that others wait for, on any node:`, "quiet"),
      remedy(`SELECT ${active ? "pg_cancel_backend" : "pg_terminate_backend"}(${session.id});`));
  }
  return parts;
}
