// Asks for the sections, each by itself, and shows what comes.
//
// Only textContent and attributes take what comes from the database, so none of it is markup.

import {treemap} from "./treemap.js";
import {waitGraph} from "./waits.js";

const EVERY = {health: 3000};   // ms between an answer and the next question
const USUALLY = 5000;
const WINDOW = 60000;           // ms over which rates are taken
const OTHERS = {tables: ["loads"]};     // sections that are shown with another one
const latest = {};              // by section, its last answer
const samples = new Map();      // of counters that only grow: [time, value]s of the window
let area = "bytes";             // what the treemap's areas are

export function element(name, content, kind) {
  const made = document.createElement(name);
  if (content instanceof Node) made.append(content);
  else if (content !== undefined && content !== null) made.textContent = content;
  if (kind) made.className = kind;
  return made;
}

export function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit++; }
  return `${bytes < 10 && unit ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

export function count(number) {
  if (number >= 1e6) return `${(number / 1e6).toFixed(1)} M`;
  if (number >= 1e4) return `${Math.round(number / 1e3)} k`;
  return number < 10 && number % 1 ? number.toFixed(1) : String(Math.round(number));
}

function duration(seconds) {
  if (seconds && seconds < 1) return `${count(1000 * seconds)} ms`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function nodeName(id) {
  const found = latest.nodes?.rows?.find(node => node.nodeid === id);
  return found ? `${found.nodename}:${found.nodeport}` : `node ${id}`;
}

// How fast a counter has grown within the window, a second; null until there are two values. A smaller value starts anew.
function rate(key, value, at) {
  let known = samples.get(key) ?? [];
  if (value === null || value === undefined) return null;
  if (known.length && value < known.at(-1)[1]) known = [];
  if (!known.length || at > known.at(-1)[0]) known.push([at, value]);
  while (known.length > 2 && known[0][0] < at - WINDOW / 1000) known.shift();
  samples.set(key, known);
  const [[since, first], [until, last]] = [known[0], known.at(-1)];
  return until > since ? (last - first) / (until - since) : null;
}

function badge(text, kind) { return element("span", text, `badge ${kind}`); }

function bar(name, value, most, text, title) {
  const made = element("span"), drawn = document.createElement(name);
  Object.assign(drawn, {max: most || 1, value: value || 0, title: title ?? ""});
  if (name === "meter") Object.assign(drawn, {high: 0.8 * most, optimum: 0});
  made.append(drawn, text);
  return made;
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);    // where a browser doesn't let it: not by TLS
    button.textContent = "selected";
  }
}

export function remedy(text) {
  const made = element("div", undefined, "remedy"), button = element("button", "copy");
  button.type = "button";
  button.addEventListener("click", () => copy(button, text));
  made.append(element("pre", text), button);
  return made;
}

// Columns are [title, what a row shows, class of the cell].
function table(rows, columns) {
  const made = element("table"), head = made.createTHead().insertRow(), body = made.createTBody();
  for (const [title, , kind] of columns) head.append(element("th", title, kind));
  for (const row of rows) {
    const line = body.insertRow();
    for (const [title, value, kind] of columns) {
      const cell = element("td", value(row), kind);
      cell.dataset.label = title;
      line.append(cell);
    }
  }
  return made;
}

const text = name => row => row[name];
const number = name => row => row[name] === null ? "" : count(row[name]);
const statement = name => row => element("pre", row[name]);
const ofNode = name => row => nodeName(row[name]);
const time = name => row => row[name] && new Date(row[name]).toLocaleString();
const bytes = name => row => row[name] === null ? "" : size(row[name]);

const COLUMNS = {
  health: [["", row => badge(row.severity, row.severity)], ["Node", row => `${row.nodename}:${row.nodeport}`, "name"],
    ["What", row => { const made = element("div", `${row.subject} ${row.finding}`); if (row.detail) made.append(element("p", row.detail)); return made; }],
    ["Remedy, on that node", row => row.remedy ? remedy(row.remedy) : ""]],
  nodes: [["Node", row => `${row.nodename}:${row.nodeport}`, "name"], ["", row => row.up ? badge("up", "good") : badge("down", "critical")],
    ["Clients + nodes", row => row.up ? bar("meter", row.clients + row.node_sessions, row.max_connections, `${row.clients} + ${row.node_sessions}`,
      `${row.clients} of clients and ${row.node_sessions} of other nodes, of ${row.max_connections}`) : "", "name"],
    ["Active", number("active_sessions"), "number"], ["Waiting", number("lock_waits"), "number"],
    ["Oldest transaction", row => row.oldest_transaction === null ? "" : duration(row.oldest_transaction), "number"],
    ["Prepared", number("prepared_transactions"), "number"],
    ...[["Commits/s", "commits"], ["Rows read/s", "rows_read"], ["Rows written/s", "rows_written"]].map(([title, name]) => [title,
      row => { const found = rate(`node ${row.nodeid} ${name}`, row[name], latest.nodes.at); return found === null ? "" : count(found); }, "number"]),
    ["Shards", number("shards"), "number"], ["Their size", bytes("shard_size"), "number"],
    ["Disk used", row => row.disk_size ? bar("meter", row.disk_size - row.disk_free, row.disk_size,
      `${Math.round(100 - 100 * row.disk_free / row.disk_size)} %`,
      `${size(row.disk_free)} of ${size(row.disk_size)} are free`) : "", "name"]],
  tables: [["Table", text("table"), "name"], ["Type", text("type")], ["Shards", number("shards"), "number"], ["Size", bytes("bytes"), "number"],
    ["Largest shard", bytes("largest"), "number"], ["Rows/s", row => row.load === null ? "" : count(row.load), "number"]],
  statements: [["Session", text("global_pid"), "name"], ["Node", ofNode("nodeid"), "name"], ["Role", text("role")], ["Application", text("application")],
    ["State", text("state")], ["Since", row => row.seconds === null ? "" : duration(row.seconds), "number"], ["Waits for", text("waits_for")], ["Statement", statement("query")]],
  moves: [["Table", text("table_name"), "name"], ["Shard", text("shardid")], ["Operation", text("operation")], ["From", text("source"), "name"], ["To", text("target"), "name"],
    ["Arrived", row => bar("progress", Math.min(row.arrived, row.bytes), row.bytes, `${size(row.arrived)} of ${size(row.bytes)}`), "name"], ["Status", text("status")]],
  jobs: [["Job", text("job")], ["State", row => badge(row.state, {finished: "good", failed: "critical", running: "notice"}[row.state] ?? "warning")],
    ["Description", text("description")], ["Tasks", row => bar("progress", row.done, row.tasks, `${row.done} of ${row.tasks}`), "name"], ["Left", text("time_left")],
    ["Started", time("started_at")], ["Ended", time("finished_at")], ["Error", text("message")]],
  plan: [["Table", text("table_name"), "name"], ["Shard", text("shardid")], ["Size", bytes("bytes"), "number"], ["From", text("source"), "name"], ["To", text("target"), "name"]],
  tenants: [["Tenant", text("tenant")], ["Statements, last period", number("statements"), "number"],
    ["CPU s, last period", text("cpu_seconds"), "number"], ["This period", number("statements_now"), "number"]],
  gateways: [["Node", ofNode("nodeid"), "name"], ["Clients", number("clients"), "number"], ["Waiting", number("waiting"), "number"], ["Pools", number("pools"), "number"],
    ["Sessions", number("sessions"), "number"],
    ["Transactions/s", row => { const found = rate(`gateway ${row.nodeid} ${row.pid}`, row.transactions, latest.gateways.at); return found === null ? "" : count(found); }, "number"],
    ["99 % wait up to", row => row.p99_wait_ms === null ? "" : `${row.p99_wait_ms.toFixed(1)} ms`, "number"], ["", row => row.paused ? badge("paused", "warning") : ""]],
  slow: [["Node", ofNode("nodeid"), "name"], ["Calls", number("calls"), "number"], ["Total", row => duration(row.total_ms / 1000), "number"],
    ["Mean, ms", text("mean_ms"), "number"], ["Longest, ms", text("longest_ms"), "number"], ["Statement", statement("query")]],
};

const EMPTY = {
  health: () => badge("No findings", "good"), tables: () => "No table is distributed yet: SELECT create_distributed_table('table', 'column')",
  tenants: () => "None. citus.stat_tenants_track = 'all' has nodes count them.", gateways: () => "No node has a gateway (citus.gateway_port).",
  waits: () => "No session waits for another.", statements: () => "None.", plan: () => "The shards are balanced: no moves.", slow: () => "None.",
};

function ofMissing(error) {
  if (/pg_stat_statements/.test(error)) return "pg_stat_statements is not there: CREATE EXTENSION pg_stat_statements, on a server whose shared_preload_libraries has it";
  return error;
}

// Rows of shards, with their load, become those of tables.
function tablesOf(rows) {
  const loads = new Map((latest.loads?.rows ?? []).map(row => [`${row.shardid} ${nodeName(row.nodeid)}`, rate(`shard ${row.shardid} ${row.nodeid}`, row.rows, latest.loads.at)]));
  const found = new Map();
  for (const row of rows) {
    const made = found.get(row.table_name) ?? {table: row.table_name, type: row.type, parts: [], bytes: 0, largest: 0, load: null};
    const load = loads.get(`${row.shardid} ${row.node}`) ?? null;
    made.parts.push({...row, load});
    made.bytes += row.bytes ?? 0;
    made.largest = Math.max(made.largest, row.bytes ?? 0);
    if (load !== null) made.load = (made.load ?? 0) + load;
    made.shards = new Set(made.parts.map(part => part.shardid)).size;
    found.set(row.table_name, made);
  }
  return [...found.values()].sort((a, b) => (b[area] ?? 0) - (a[area] ?? 0));
}

const SHOWN = {
  tables(rows) {
    const tables = tablesOf(rows), details = element("details"), made = [treemap(tables, area, latest.nodes?.rows ?? [])];
    const open = document.querySelector("#tables details")?.open;
    details.open = open ?? false;
    details.append(element("summary", `${tables.length} tables`), table(tables.slice(0, 100), COLUMNS.tables));
    return [...made, details];
  },
  waits: rows => waitGraph(rows),
  slow: rows => [table(rows.sort((a, b) => b.total_ms - a.total_ms).slice(0, 12), COLUMNS.slow)],
  plan: rows => [table(rows, COLUMNS.plan), element("p", "To make these moves, on the coordinator:"), remedy("SELECT citus_rebalance_start();")],
};

function content(name) {
  const {error, rows, errors = []} = latest[name];
  if (error) return [element("p", /permission denied/.test(error) ? `${error}\nThe console's role has to be a member of pg_monitor.` : error, "error")];
  const distinct = new Map(errors.map(found => [ofMissing(found.error), found.nodeid]));
  const made = [...distinct].map(([problem, id]) => element("p", `${nodeName(id)}: ${problem}`, "quiet"));
  if (!rows.length && made.length) return made;
  if (!rows.length) return [element("p", EMPTY[name]?.() ?? "None.", "quiet")];
  return [...made, ...(SHOWN[name] ?? (found => [table(found, COLUMNS[name])]))(rows)];
}

function show(name) {
  const section = document.getElementById(name), box = section.querySelector(":scope > .content") ?? section.appendChild(element("div", undefined, "content"));
  const chosen = getSelection();
  if (!chosen.isCollapsed && box.contains(chosen.anchorNode)) return;     // somebody is about to copy it
  box.replaceChildren(...content(name));
}

function summarise() {
  const box = document.getElementById("summary"), found = latest.health;
  if (!found) return;
  const parts = [];
  for (const severity of ["critical", "warning", "notice"]) {
    const rows = (found.rows ?? []).filter(row => row.severity === severity);
    if (rows.length) parts.push(badge(`${rows.length} ${severity}`, severity), " ");
  }
  if (found.error) parts.push(badge("not known", "warning"));
  box.replaceChildren(...(parts.length ? parts : [badge("healthy", "good")]));
}

async function ask(name) {
  const answer = await fetch(`data/${name}`, {signal: AbortSignal.timeout(60000)});
  if (!answer.ok) throw new Error(await answer.text());
  latest[name] = await answer.json();
}

// A section's rows stay while no new ones come, with a word that they are old.
async function refresh(name) {
  try {
    for (const other of OTHERS[name] ?? []) await ask(other);
    const isFirst = name === "nodes" && !latest.nodes;
    await ask(name);
    show(name);
    if (isFirst) Object.keys(latest).filter(other => document.querySelector(`#${other} > .content`)).forEach(show);    // now nodes have names
    if (name === "health") summarise();
    document.getElementById("time").textContent = new Date().toLocaleTimeString();
    document.getElementById(name).querySelector(".age")?.remove();
  } catch (error) {
    const section = document.getElementById(name), age = section.querySelector(".age") ?? element("span", undefined, "age");
    age.textContent = `no answer: ${error.message}`;
    section.querySelector("h2").after(age);
  }
  setTimeout(refresh, EVERY[name] ?? USUALLY, name);
}

for (const button of document.querySelectorAll("[data-area]")) {
  button.addEventListener("click", () => {
    area = button.dataset.area;
    for (const each of document.querySelectorAll("[data-area]")) each.setAttribute("aria-pressed", String(each === button));
    if (latest.tables) show("tables");
  });
}
document.getElementById("ask-plan").addEventListener("click", async event => {
  const box = document.getElementById("plan");
  event.target.disabled = true;
  try {
    await ask("plan");
    box.replaceChildren(...content("plan"));
  } catch (error) {
    box.replaceChildren(element("p", error.message, "error"));
  }
  box.hidden = false;
  event.target.disabled = false;
});
addEventListener("resize", () => ["tables", "waits"].filter(name => latest[name]).forEach(show));
for (const section of document.querySelectorAll("main > section")) refresh(section.id);
