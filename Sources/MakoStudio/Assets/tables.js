// The first view: every table with its rows, its size and its indexes.

import { bytes, count, h, plural, state, visible } from "./dom.js";

export async function tablesView({ schema, main }) {
    const { tables } = schema;
    if (!tables.length) {
        main.replaceChildren(h("h1", {}, "Tables"), state("This database has no tables yet",
            "They appear here as soon as a program saves its first object, or after CREATE TABLE in the shell of mako."));
        return undefined;
    }
    const body = h("tbody");
    const all = tables.reduce((sum, table) => sum + (table.bytes ?? 0), 0) || 1;
    const draw = () => body.replaceChildren(...tables.map((table) => line(table, all)));
    draw();
    main.replaceChildren(
        h("div", { class: "top" }, h("h1", {}, "Tables"), h("span", { class: "muted" }, plural(tables.length, "table"))),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tables" }, h("table", { class: "sheet" },
            h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Name"), h("th", { scope: "col", class: "number" }, "Rows"),
                h("th", { scope: "col", class: "number" }, "On disk"), h("th", { scope: "col", class: "wide" }, "Share"),
                h("th", { scope: "col", class: "wide" }, "Columns"), h("th", { scope: "col", class: "wide" }, "Indexes"))), body)));
    return { changed: draw };
}

function line(table, all) {
    const meter = h("i");
    meter.style.width = `${Math.max(1, (table.bytes ?? 0) / all * 100)}%`;
    return h("tr", {},
        h("td", {}, h("a", { href: `#/table/${encodeURIComponent(table.name)}` }, ...visible(table.name, 120))),
        h("td", { class: "number", title: table.exact ? null : "estimated" }, `${table.exact ? "" : "~"}${count(table.rows)}`),
        h("td", { class: "number" }, bytes(table.bytes)),
        h("td", { class: "wide" }, h("span", { class: "meter", "aria-hidden": "true" }, meter)),
        h("td", { class: "wide muted" }, plural(table.columns.length, "column")),
        h("td", { class: "wide muted" }, ...(table.indexes.length ? visible(table.indexes.map((index) => index.columns.join(" + ")).join(", "), 90)
            : ["none"])));
}
