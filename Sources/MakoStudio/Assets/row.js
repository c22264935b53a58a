// One row: all of its values, the rows it refers to, the rows that refer to it, and its history.

import { api } from "./api.js";
import { cellContent, rowAddress, wholeContent } from "./cell.js";
import { deleteRow, editRow } from "./edit.js";
import { Grid } from "./grid.js";
import { count, flash, h, state, visible } from "./dom.js";

export async function rowView({ schema, parts, main, isCurrent }) {
    const table = schema.tables.find((one) => one.name === parts[1]);
    const key = parts[2];
    if (!table) throw new Error("There is no such table.");
    const view = { grids: new Set(), opened: new Set() };
    main.replaceChildren(h("p", { class: "loading", role: "status" }, "Reading the row…"));

    async function draw(before) {
        let row;
        try {
            row = await api.row(table, key);
        } catch (error) {
            if (error.gone === undefined && error.message !== "gone" && !/no row|no such row|not found/i.test(error.message)) throw error;
            if (isCurrent()) main.replaceChildren(heading(table, key, {}), gone(table));
            return undefined;
        }
        if (!isCurrent()) return undefined;
        closeGrids(view);
        if (row.change === "delete") {
            main.replaceChildren(heading(table, key, row), deletedSince(schema), properties(table, key, row, undefined, { ...schema, writable: false }));
            return row;
        }
        main.replaceChildren(heading(table, key, row, schema, () => draw(row)), properties(table, key, row, before, schema, () => draw(row)),
            ...(row.lists ?? []).map((list) => related(schema, table, key, list, view)), ...history(row));
        return row;
    }

    let shown = await draw();
    return {
        changed: (event) => {
            const touched = event.tables && Object.hasOwn(event.tables, table.name);
            if (touched || (shown?.lists ?? []).some((list) => event.tables && Object.hasOwn(event.tables, list.table))) {
                return draw(shown).then((row) => { shown = row ?? shown; });
            }
            return undefined;
        },
        close: () => closeGrids(view),
    };
}

function closeGrids(view) {
    for (const grid of view.grids) grid.close();
    view.grids.clear();
}

function gone(table) {
    return state("There is no such row", "It may have been deleted since. Where a history is kept, the view Time shows when.",
        h("a", { class: "button", href: `#/table/${encodeURIComponent(table.name)}` }, "Show the table"), h("a", { class: "button", href: "#/time" }, "Time"));
}

function deletedSince(schema) {
    return h("p", { class: "notice" }, `This row is gone: these are its values in the pinned commit ${count(schema.pin?.commit)}.`);
}

function heading(table, key, row, schema, again) {
    const writes = schema?.writable ? [
        h("button", { type: "button", id: "edit", onclick: () => editRow(table, { key, cells: row.cells }, undefined, schema).then((saved) => saved && again()) }, "Edit"),
        h("button", { type: "button", class: "danger", onclick: async () => {
            if (await deleteRow(table, { key, cells: row.cells })) location.hash = `#/table/${encodeURIComponent(table.name)}`;
        } }, "Delete")] : [];
    return h("div", { class: "top" },
        h("a", { href: `#/table/${encodeURIComponent(table.name)}` }, ...visible(table.name, 80)), h("span", { class: "crumbs", "aria-hidden": "true" }, "›"),
        h("h1", {}, h("span", { class: "value", dir: "auto" }, ...visible(row.name || key, 120))),
        row.name ? h("span", { class: "muted" }, "key ", ...visible(key, 80)) : null,
        row.change === "insert" ? h("span", { class: "badge good" }, "not in the pinned commit") : null, h("span", { class: schema?.writable ? "grow break" : "grow" }), writes);
}

function properties(table, key, row, before, schema, again) {
    return h("dl", { class: "properties" }, table.columns.flatMap((column, index) => {
        const cell = row.cells[index];
        const value = h("dd", { dir: null }, cell?.kind === "link" ? linked(cell) : wholeContent(cell, column, api.blobAddress(table.name, key, column.name)));
        if (before && JSON.stringify(before.cells[index]) !== JSON.stringify(cell)) flash(value);
        if (row.was && Object.hasOwn(row.was, column.name)) {
            value.classList.add("differs");
            value.append(h("span", { class: "pinned" }, `in commit ${count(schema.pin?.commit)}: `, cellContent(row.was[column.name], column)));
        }
        if (schema.writable) {
            value.addEventListener("dblclick", () => editRow(table, { key, cells: row.cells }, column, schema).then((saved) => saved && again()));
        }
        return [h("dt", {}, h("span", {}, ...visible(column.name, 120)), h("small", {}, column.target ? `→ ${column.target}` : column.detail ?? "")), value];
    }));
}

function linked(cell) {
    const shown = cellContent(cell, {});
    shown.removeAttribute("tabindex");
    return shown;
}

/** A list of rows that opens in place; the count is there before it opens. */
function related(schema, table, key, list, view) {
    const inner = h("div", { class: "inner" });
    const target = schema.tables.find((one) => one.name === list.table);
    const box = h("details", { "data-list": list.name }, h("summary", {}, ...visible(list.name, 80), h("span", { class: "count" },
        list.count === null ? `in ${list.table}, not counted: no index leads to them` : `${list.exact ? "" : "at least "}${count(list.count)} in ${list.table}`)), inner);
    const open = () => {
        if (!box.open) { view.opened.delete(list.name); return; }
        view.opened.add(list.name);
        if (inner.firstChild || !target) return;
        inner.style.height = `${Math.min(320, 36 + Math.max(2, list.count ?? 9) * 30 + 16)}px`;
        const grid = new Grid({ columns: target.columns, total: list.exact ? list.count : undefined, exact: list.exact, jumps: false,
            page: (range) => api.related(table, key, list.name, target, range) }, {
            label: `${list.name} of ${table.name} ${key}`, id: list.name.replace(/\W/g, "_"), name: `list.${table.name}.${list.name}`,
            open: (row) => { if (row) location.hash = rowAddress(target.name, row.key); },
            empty: () => h("p", { class: "loading" }, "No rows in this list."),
        });
        view.grids.add(grid);
        inner.append(grid.element);
        grid.start();
    };
    box.addEventListener("toggle", open);
    if (view.opened.has(list.name)) { box.open = true; queueMicrotask(open); }
    return box;
}

function history(row) {
    if (!row.history?.length) return [];
    return [h("h2", {}, "History of this row"), h("table", { class: "sheet" },
        h("thead", {}, h("tr", {}, ["Commit", "Date", "Changed"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, row.history.map((one) => h("tr", {}, h("td", {}, h("a", { href: `#/time?commit=${one.commit}` }, count(one.commit))),
            h("td", {}, one.date ?? ""), h("td", {}, ...visible((one.changed ?? []).join(", ") || one.kind || "", 200))))))];
}
