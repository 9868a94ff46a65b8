// Tables as rectangles, with their shards within, coloured by node.

import {count, element, size} from "./console.js";

const TITLE = 16;       // pixels of a table's name
const GAP = 2;

const COLOURS = ["#4c8dc9", "#e0964f", "#5aa777", "#a97bb5", "#c9b23e", "#62b5bd", "#cf6a62", "#8f98a3"];

// A colour for each node: those of the list can be told apart by everybody; more nodes get hues that are far from each other.
function colour(index) {
  return COLOURS[index] ?? `hsl(${Math.round(index * 137.5) % 360} 45% 58%)`;
}

// Places items with an `area`, largest first, into a rectangle: rows along the shorter side, each as long as its parts get more square by it.
function place(items, x, y, width, height, draw) {
  let total = items.reduce((sum, item) => sum + item.area, 0), at = 0;
  const worst = (row, sum, side, scale) => Math.max(...[row[0], row.at(-1)].map(item => {
    const thick = sum * scale / side, long = item.area * scale / thick;
    return Math.max(thick / long, long / thick);
  }));
  while (at < items.length && width > 0 && height > 0) {
    const side = Math.min(width, height), scale = width * height / total, row = [items[at++]];
    let sum = row[0].area;
    while (at < items.length && worst([...row, items[at]], sum + items[at].area, side, scale) <= worst(row, sum, side, scale)) {
      sum += items[at].area;
      row.push(items[at++]);
    }
    const thick = sum * scale / side;
    let along = 0;
    for (const item of row) {
      const long = item.area * scale / thick;
      if (width <= height) draw(item, x + along, y, long, thick);
      else draw(item, x, y + along, thick, long);
      along += long;
    }
    if (width <= height) { y += thick; height -= thick; } else { x += thick; width -= thick; }
    total -= sum;
  }
}

function box(kind, x, y, width, height, title) {
  const made = element("div", undefined, kind);
  Object.assign(made.style, {left: `${x}px`, top: `${y}px`, width: `${Math.max(width, 1)}px`, height: `${Math.max(height, 1)}px`});
  made.title = title;
  return made;
}

// The picture of tables with `parts`, whose areas are `bytes` or `load`, in an element.
export function treemap(tables, area, nodes) {
  const made = element("div"), map = element("div", undefined, "map"), legend = element("div", undefined, "legend");
  const names = nodes.map(node => `${node.nodename}:${node.nodeport}`);
  const shown = value => area === "bytes" ? size(value) : `${count(value)} rows/s`;
  const within = document.querySelector("#tables .content"), width = within.clientWidth, height = matchMedia("(max-width: 50rem)").matches ? 256 : 320;
  const sized = items => items.filter(item => item[area] > 0).sort((a, b) => b[area] - a[area]).map(item => ({item, area: item[area]}));
  const drawn = sized(tables);
  if (!drawn.length) {
    return element("p", area === "bytes" ? "No shard has a size." : tables.every(table => table.load === null) ? "The load is known from the second answer of the nodes on."
      : "No rows were read or written within the last minute.", "quiet");
  }
  map.setAttribute("role", "img");
  map.setAttribute("aria-label", `Areas of tables and shards: ${drawn.slice(0, 5).map(({item}) => `${item.table} ${shown(item[area])}`).join(", ")}`);
  place(drawn, 0, 0, width, height, ({item}, x, y, w, h) => {
    const title = h > 3 * TITLE && w > 50 ? TITLE : 0, name = `${item.table}: ${shown(item[area])}, ${item.shards} shards`;
    if (title) {
      const label = box("group", x, y, w - GAP, title, name);
      label.textContent = `${item.table} · ${shown(item[area])}`;
      map.append(label);
    }
    place(sized(item.parts), x, y + title, w - GAP, h - title - GAP, ({item: part}, ...rectangle) => {
      const cell = box("shard", ...rectangle, `${part.table_name}, shard ${part.shardid} on ${part.node}: ${shown(part[area])}`);
      cell.style.background = colour(names.indexOf(part.node));
      map.append(cell);
    });
  });
  names.forEach((name, index) => {
    const entry = element("span"), mark = element("i");
    mark.style.background = colour(index);
    entry.append(mark, name);
    legend.append(entry);
  });
  made.append(legend, map);
  return made;
}
