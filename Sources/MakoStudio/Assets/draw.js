// What is drawn as SVG: charts of two columns, the treemap of the file, the diagram of the schema.

import { bytes, count, flat, s } from "./dom.js";

function short(text, letters) {
    const shown = flat(text);
    return shown.length > letters ? `${shown.slice(0, Math.max(1, letters - 1))}…` : shown;
}

// MARK: Charts

/** points: [{ label, value }]; kind: "bars" or "line". */
export function chart(points, kind, names, room) {
    const width = Math.max(300, Math.min(900, room));
    const height = 300;
    const box = { left: 64, right: 12, top: 12, bottom: 44 };
    const values = points.map((point) => point.value);
    const scale = ticks(Math.min(0, ...values), Math.max(0, ...values));
    const x = (index) => box.left + (index + .5) * (width - box.left - box.right) / points.length;
    const y = (value) => height - box.bottom - (value - scale.low) / (scale.high - scale.low) * (height - box.top - box.bottom);
    const grid = scale.marks.map((mark) => s("g", {}, s("line", { class: "rule", x1: box.left, x2: width - box.right, y1: y(mark), y2: y(mark) }),
        s("text", { class: "mark", x: box.left - 8, y: y(mark) + 4, "text-anchor": "end" }, compact(mark))));
    const step = Math.max(1, Math.ceil(points.length * 84 / (width - 76)));
    const labels = points.map((point, index) => (index % step ? null : s("text", { class: "mark", x: x(index), y: height - box.bottom + 18,
        "text-anchor": "middle" }, short(point.label, 12))));
    const marks = kind === "line" ? lines(points, x, y) : bars(points, x, y, width - box.left - box.right);
    return s("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
        "aria-label": `${names.value} by ${names.label}, ${points.length} points, ${compact(Math.min(...values))} to ${compact(Math.max(...values))}` },
    grid, marks, labels, s("text", { class: "mark", x: (box.left + width) / 2, y: height - 6, "text-anchor": "middle" }, short(names.label, 60)));
}

const tip = (point) => s("title", {}, `${point.label}: ${count(point.value)}`);

function bars(points, x, y, room) {
    const wide = Math.max(1, Math.min(48, room / points.length * .72));
    return points.map((point, index) => {
        const top = Math.min(y(point.value), y(0));
        return s("rect", { class: "bar", x: x(index) - wide / 2, y: top, width: wide, height: Math.max(1, Math.abs(y(point.value) - y(0))), rx: 1.5 },
            tip(point));
    });
}

function lines(points, x, y) {
    const path = points.map((point, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(point.value).toFixed(1)}`).join("");
    const dots = points.length > 120 ? [] : points.map((point, index) => s("circle", { class: "bar", cx: x(index), cy: y(point.value), r: 3 }, tip(point)));
    return [s("path", { class: "trace", d: path }), ...dots];
}

function ticks(low, high) {
    const span = high - low || 1;
    const raw = span / 4;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw);
    const from = Math.floor(low / step) * step;
    const marks = [];
    for (let at = 0; from + at * step < high + step * .999 && at < 12; at += 1) marks.push(from + at * step);
    return { low: from, high: marks[marks.length - 1] || from + step, marks };
}

const few = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const compact = (number) => few.format(number);

// MARK: Treemap

/** Squarified rectangles: items [{ name, size, kind }], largest first. */
export function treemap(items, open, room) {
    const width = Math.max(280, room);
    const height = Math.round(Math.min(420, Math.max(260, width * .42)));
    const all = items.reduce((sum, item) => sum + item.size, 0) || 1;
    const placed = squarify(items.filter((item) => item.size > 0).map((item) => ({ ...item, area: item.size / all * width * height })),
        { x: 0, y: 0, width, height });
    return s("svg", { class: "treemap", viewBox: `0 0 ${width} ${height}`, role: "img",
        "aria-label": `Sizes as areas: ${items.slice(0, 5).map((item) => `${item.name} ${bytes(item.size)}`).join(", ")}` },
    placed.map((box) => tile(box, open)));
}

function tile(box, open) {
    const letters = Math.floor((box.width - 14) / 7.2);
    const words = box.height > 22 && letters > 2 ? [s("text", { x: box.x + 8, y: box.y + 18 }, short(box.name, letters))] : [];
    if (box.height > 40 && letters > 6) words.push(s("text", { class: "small", x: box.x + 8, y: box.y + 34 }, bytes(box.size)));
    return s("g", { class: `tile ${box.kind}`, onclick: open ? () => open(box) : null },
        s("rect", { x: box.x + 1, y: box.y + 1, width: Math.max(0, box.width - 2), height: Math.max(0, box.height - 2), rx: 3 }),
        s("title", {}, `${box.name} · ${box.label ?? box.kind} · ${bytes(box.size)}`), words);
}

function squarify(items, room) {
    const placed = [];
    let left = { ...room };
    let rest = [...items].sort((one, other) => other.area - one.area);
    while (rest.length) {
        const side = Math.min(left.width, left.height);
        let taken = 1;
        while (taken < rest.length && worst(rest.slice(0, taken + 1), side) <= worst(rest.slice(0, taken), side)) taken += 1;
        left = layRow(rest.slice(0, taken), left, placed);
        rest = rest.slice(taken);
    }
    return placed;
}

function worst(row, side) {
    const sum = row.reduce((all, item) => all + item.area, 0);
    const thick = sum / Math.max(side, 1e-9);
    return Math.max(...row.map((item) => Math.max(thick * thick / item.area, item.area / (thick * thick))));
}

function layRow(row, room, placed) {
    const sum = row.reduce((all, item) => all + item.area, 0);
    const upright = room.width >= room.height;
    const thick = sum / Math.max(upright ? room.height : room.width, 1e-9);
    let at = upright ? room.y : room.x;
    for (const item of row) {
        const long = item.area / thick;
        placed.push(upright ? { ...item, x: room.x, y: at, width: thick, height: long } : { ...item, x: at, y: room.y, width: long, height: thick });
        at += long;
    }
    return upright ? { x: room.x + thick, y: room.y, width: room.width - thick, height: room.height }
        : { x: room.x, y: room.y + thick, width: room.width, height: room.height - thick };
}

// MARK: Diagram

const WIDE = 220;
const LINE = 20;
const HEAD = 30;

/** Tables as boxes in layers, each to the left of what it refers to; references as lines from column to table. */
export function diagram(tables) {
    const boxes = layout(tables);
    const right = Math.max(0, ...boxes.map((box) => box.x + WIDE));
    const bottom = Math.max(0, ...boxes.map((box) => box.y + box.height));
    const byName = new Map(boxes.map((box) => [box.table.name, box]));
    const references = tables.reduce((sum, table) => sum + table.columns.filter((column) => column.target).length, 0);
    return s("svg", { class: "diagram", width: right + 50, height: bottom + 20, viewBox: `-10 -10 ${right + 50} ${bottom + 20}`, role: "group",
        "aria-label": `${tables.length} tables, ${references} references` },
    s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
        s("path", { class: "tip", d: "M0 0L8 4L0 8z" }))),
    boxes.flatMap((box) => edges(box, byName)), boxes.map(boxElement));
}

function layout(tables) {
    const depth = new Map();
    const names = new Map(tables.map((table) => [table.name, table]));
    const targets = (table) => [...new Set(table.columns.map((column) => column.target).filter((name) => name && name !== table.name && names.has(name)))];
    const visit = (table, path) => {
        if (depth.has(table.name)) return depth.get(table.name);
        if (path.has(table.name)) return 0;
        path.add(table.name);
        const found = Math.max(0, ...targets(table).map((name) => visit(names.get(name), path) + 1));
        path.delete(table.name);
        depth.set(table.name, found);
        return found;
    };
    tables.forEach((table) => visit(table, new Set()));
    const referred = new Set(tables.flatMap(targets));
    const lone = tables.filter((table) => !targets(table).length && !referred.has(table.name));
    const most = Math.max(0, ...depth.values());
    const columns = Array.from({ length: most + 1 }, (_, layer) => tables.filter((table) => !lone.includes(table) && most - depth.get(table.name) === layer));
    const boxes = columns.filter((column) => column.length).flatMap((column, layer) => stack(column, layer * (WIDE + 90), 0));
    const bottom = Math.max(0, ...boxes.map((box) => box.y + box.height + 28));
    return boxes.concat(rows(lone, bottom));
}

const boxHeight = (table) => HEAD + Math.max(1, Math.min(14, table.columns.length)) * LINE + 8;

function stack(tables, x, top) {
    let y = top;
    return tables.map((table) => {
        const box = { table, x, y, height: boxHeight(table) };
        y += box.height + 28;
        return box;
    });
}

function rows(tables, top) {
    const boxes = [];
    let y = top;
    for (let at = 0; at < tables.length; at += 4) {
        const row = tables.slice(at, at + 4);
        row.forEach((table, place) => boxes.push({ table, x: place * (WIDE + 70), y, height: boxHeight(table) }));
        y += Math.max(...row.map(boxHeight)) + 28;
    }
    return boxes;
}

function edges(box, byName) {
    return box.table.columns.slice(0, 14).flatMap((column, index) => {
        const target = column.target && byName.get(column.target);
        if (!target) return [];
        const y = box.y + HEAD + index * LINE + 12;
        const [from, to] = [box.x + WIDE, target.x];
        const end = target.y + HEAD / 2;
        const path = target === box
            ? `M${from} ${y}C${from + 36} ${y} ${from + 36} ${end} ${from} ${end}` : to < from
            ? `M${from} ${y}C${from + 50} ${y} ${target.x + WIDE + 50} ${end} ${target.x + WIDE} ${end}`
            : `M${from} ${y}C${(from + to) / 2} ${y} ${(from + to) / 2} ${end} ${to} ${end}`;
        return [s("path", { class: "edge", d: path, "marker-end": "url(#tip)" }, s("title", {}, `${box.table.name}.${column.name} → ${column.target}`))];
    });
}

function boxElement(box) {
    const { table } = box;
    const shown = table.columns.slice(0, table.columns.length > 14 ? 13 : 14);
    const lines = shown.map((column, index) => s("g", {},
        s("text", { class: column.key ? "key" : "", x: box.x + 12, y: box.y + HEAD + index * LINE + 16 }, short(column.name, 18)),
        s("text", { class: "small", x: box.x + WIDE - 12, y: box.y + HEAD + index * LINE + 16, "text-anchor": "end" },
            short(column.target ? `→ ${column.target}` : column.detail ?? "", 14))));
    if (shown.length < table.columns.length) lines.push(s("text", { class: "small", x: box.x + 12, y: box.y + box.height - 8 },
        `and ${table.columns.length - shown.length} more`));
    return s("a", { class: "box", href: `#/table/${encodeURIComponent(table.name)}`, "aria-label": `${table.name}, ${table.columns.length} columns` },
        s("rect", { x: box.x, y: box.y, width: WIDE, height: box.height, rx: 6 }),
        s("path", { class: "under", d: `M${box.x} ${box.y + HEAD}h${WIDE}` }),
        s("text", { class: "name", x: box.x + 12, y: box.y + 20 }, short(table.name, 22)),
        s("text", { class: "small", x: box.x + WIDE - 12, y: box.y + 20, "text-anchor": "end" }, count(table.rows)), lines);
}
