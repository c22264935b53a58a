// The grid of one table: its condition, its order, its rows; with --write, its changes.

import { api } from "./api.js";
import { Grid } from "./grid.js";
import { complete, quoted, schemaWords } from "./complete.js";
import { rowAddress } from "./cell.js";
import { editRow, insertRow, deleteRow, undoLast } from "./edit.js";
import { exportLinks } from "./export.js";
import { closed, equals, narrowed, showValues } from "./facets.js";
import { planTree } from "./plan.js";
import { dialog, h, problem, state, visible } from "./dom.js";

export function rowsView(context) {
    const { schema, parts, options, main } = context;
    const table = schema.tables.find((one) => one.name === parts[1]);
    if (!table) {
        main.classList.remove("fill");
        main.replaceChildren(state("There is no such table", "It may have been renamed or dropped by the program that writes.",
            h("a", { class: "button", href: "#/" }, "Show the tables")));
        return undefined;
    }
    return new RowsView(schema, table, options, main).open();
}

class RowsView {
    constructor(schema, table, options, main) {
        Object.assign(this, { schema, table, main, running: new Set() });
        this.where = closed(options.get("where") ?? "");
        this.order = options.get("order") ?? "";
        this.frame = h("div", { class: "grid-place grow" });
        this.position = h("span", { class: "muted", id: "position", role: "status" });
        this.trouble = h("div", { class: "filter-problem" });
        this.exports = h("span", {});
    }

    open() {
        const { table, schema } = this;
        this.input = h("input", { id: "where", type: "text", value: this.where, "aria-label": `Condition on ${table.name}`,
            placeholder: placeholder(table) });
        this.input.addEventListener("keydown", (event) => {
            if (event.key === "Enter") { this.apply(this.input.value.trim(), this.order); event.preventDefault(); }
        });
        this.clear = h("button", { type: "button", onclick: () => { this.input.value = ""; this.apply("", this.order); this.input.focus(); } }, "Clear");
        this.plan = h("button", { type: "button", id: "plan", onclick: () => this.explain() }, "Plan");
        const writes = schema.writable ? [h("button", { type: "button", id: "insert", onclick: () => this.insert() }, "Insert"),
            h("button", { type: "button", id: "undo", onclick: () => undoLast().then(() => this.grid.refresh()) }, "Undo")] : [];
        this.main.replaceChildren(
            h("div", { class: "top" }, h("h1", {}, ...visible(table.name, 120)), this.position, h("span", { class: schema.writable ? "grow break" : "grow" }), writes, this.exports),
            h("div", { class: "filter", role: "search" }, complete(this.input, schemaWords(schema, table)), this.clear, this.plan,
                h("button", { type: "button", onclick: () => this.apply(this.input.value.trim(), this.order) }, "Filter")),
            this.trouble, this.frame);
        this.keys = (event) => this.pressed(event);
        this.main.addEventListener("keydown", this.keys);
        this.show();
        return this;
    }

    apply(text, order) {
        const where = closed(text);
        this.where = where;
        this.order = order;
        const query = new URLSearchParams(Object.entries({ where, order }).filter(([, value]) => value));
        history.pushState(null, "", `#/table/${encodeURIComponent(this.table.name)}${query.size ? `?${query}` : ""}`);
        return this.show();
    }

    show() {
        this.stop();
        this.trouble.replaceChildren();
        this.clear.disabled = this.plan.disabled = !this.where;
        const { table, schema } = this;
        const columns = table.columns.map((column) => ({ ...column, sorted: this.sorting(column) }));
        this.grid = new Grid(source(this, columns), {
            label: `Rows of ${table.name}`, name: table.name, editable: schema.writable,
            sort: (column) => this.sort(column),
            open: (row) => { if (row) location.hash = rowAddress(table.name, row.key); },
            edit: schema.writable ? (row, column) => row && row.change !== "delete" && editRow(table, row, column, schema).then((saved) => saved && this.grid.refresh()) : undefined,
            values: (column) => showValues(table, column, this.where, (condition) => this.narrow(condition), schema.tables.find((one) => one.name === column.target)),
            pick: (column, cell) => this.narrow(equals(column, cell)),
            empty: () => this.emptyState(),
            failed: (error) => { this.trouble.replaceChildren(...(error.cancelled ? [] : [problem(error, this.where)])); this.position.textContent = ""; },
            slow: () => [state(this.order ? `Sorting by ${splitOrder(this.order)[0] ?? this.order}…` : "Searching for rows…", "It ends by itself after 10 seconds.",
                h("button", { type: "button", id: "stop-rows", onclick: () => this.cancel() }, "Cancel"))],
            loaded: () => this.placed(), positioned: () => this.placed(),
        });
        this.frame.replaceChildren(this.grid.element);
        const text = `SELECT * FROM ${quoted(table.name)}${this.where ? ` WHERE ${this.where}` : ""}${this.order ? ` ORDER BY ${this.order}` : ""} LIMIT 1000`;
        this.exports.replaceChildren(h("a", { class: "button quiet", id: "as-query", title: "Open as a query, with its plan",
            href: `#/query?${new URLSearchParams({ text })}` }, "SELECT"), ...exportLinks((format) => api.exportAddress(table.name, this.where, this.order, format),
            (error) => this.trouble.replaceChildren(problem(error, this.where))));
        return this.grid.start();
    }

    async explain() {
        const place = h("div", { class: "loading" }, "Running the condition for its plan…");
        dialog("Plan of the condition", h("div", {}, h("pre", {}, ...visible(this.where, 2000, false)), place));
        try {
            place.replaceWith(...planTree(await api.explain(this.where, true, this.table.name)));
        } catch (error) {
            place.replaceWith(problem(error, this.where));
        }
    }

    placed() { this.position.textContent = this.grid.position() + (this.where ? " match" : ""); }

    emptyState() {
        if (this.where) return state("No row matches the condition", "Change or clear it.");
        return state(`${this.table.name} has no rows yet`, this.schema.writable ? "Insert the first one, or let the program write it."
            : "They appear here as soon as a program saves them.");
    }

    sorting(column) {
        const [name, way] = splitOrder(this.order);
        return name === column.name ? way : undefined;
    }

    sort(column) {
        const now = this.sorting(column);
        const order = now === undefined ? `${quoted(column.name)} ASC` : now === "asc" ? `${quoted(column.name)} DESC` : "";
        this.apply(this.where, order).then(() => this.grid.body.focus());
    }

    narrow(condition) {
        if (!condition) return;
        this.input.value = narrowed(this.where, condition);
        this.apply(this.input.value, this.order).then(() => this.grid.body.focus());
    }

    pressed(event) {
        if (!this.schema.writable || event.target !== this.grid.body) return;
        if (event.key === "Insert") this.insert();
        else if (event.key === "Delete") this.remove();
        else return;
        event.preventDefault();
    }

    async insert() { if (await insertRow(this.table, this.schema)) this.grid.refresh(); }
    async remove() {
        const row = this.grid.current();
        if (row && row.change !== "delete" && await deleteRow(this.table, row)) this.grid.refresh();
    }

    changed(event) {
        const keys = event.tables?.[this.table.name];
        if (keys === undefined) return undefined;
        if (!this.where) this.grid.source.total = this.table.rows;
        return this.grid.refresh(keys ?? []);
    }

    /** Ends the requests of the grid, on the server too: a sort without an index reads the whole table. */
    cancel() {
        for (const { id, stop } of this.running) { api.cancel(id); stop.abort(); }
        this.running.clear();
    }

    stop() { this.grid?.close(); this.cancel(); }

    close() {
        this.stop();
        this.main.removeEventListener("keydown", this.keys);
    }
}

function splitOrder(order) {
    const found = /^(?:"((?:[^"]|"")+)"|(\S+))(?:\s+(asc|desc))?$/i.exec(order.trim());
    return found ? [found[1]?.replaceAll('""', '"') ?? found[2], (found[3] ?? "asc").toLowerCase()] : [];
}

function source(view, columns) {
    const { table } = view;
    const found = { columns, total: view.where ? undefined : table.rows, exact: !view.where && table.exact, jumps: !view.where && !view.order && table.jumps };
    const [first] = splitOrder(view.order);
    // Without an index every page sorts the whole table: fewer pages then.
    const isSlow = view.order && !table.columns.some((column) => column.key && column.name === first) && !table.indexes.some((index) => index.columns[0] === first);
    found.page = async (range) => {
        const request = { id: crypto.randomUUID(), stop: new AbortController() };
        view.running.add(request);
        const page = await api.rows(table, { where: view.where, order: view.order, id: request.id, signal: request.stop.signal, ...range, limit: isSlow ? 500 : range.limit })
            .finally(() => view.running.delete(request));
        if (page.total !== undefined) { found.total = page.total; found.exact = page.exact; }
        return page;
    };
    return found;
}

function placeholder(table) {
    const text = table.columns.find((column) => column.kind === "text");
    const number = table.columns.find((column) => column.kind === "int" && !column.key);
    const example = text ? `${quoted(text.name)} LIKE 'A%'` : number ? `${quoted(number.name)} > 10` : `${quoted(table.columns[0]?.name ?? "id")} IS NOT NULL`;
    return `Condition, such as ${example}`;
}
