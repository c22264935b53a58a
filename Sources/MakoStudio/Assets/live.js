// What other processes write, as it happens: a tile with a count for each table, and the last commits.

import { rowAddress } from "./cell.js";
import { count, flash, h, state, visible } from "./dom.js";

const KEPT = 60;
const seen = [];

export function liveView({ schema, main }) {
    const tiles = new Map(schema.tables.map((table) => [table.name, h("b", {}, count(table.rows))]));
    const feed = h("ul", { class: "plain feed", id: "feed", "aria-label": "Commits" });
    const nothing = state("Waiting for the next commit", "Leave this page open while your program writes: rows, counts and grids follow by themselves.");
    feed.append(...seen.map(entry));
    nothing.classList.toggle("hidden", seen.length > 0);
    main.replaceChildren(h("div", { class: "top" }, h("h1", {}, "Live"), h("span", { class: "muted" }, "commits of other processes, newest first")),
        h("div", { class: "tiles" }, schema.tables.map((table) => h("a", { href: `#/table/${encodeURIComponent(table.name)}`, "data-table": table.name },
            tiles.get(table.name), h("span", {}, ...visible(table.name, 60))))), nothing, feed);
    return {
        changed(event) {
            for (const table of schema.tables) {
                const tile = tiles.get(table.name);
                if (tile.textContent !== count(table.rows)) tile.textContent = count(table.rows);
                if (event.tables && Object.hasOwn(event.tables, table.name)) flash(tile.parentElement);
            }
            seen.unshift({ ...event, at: new Date() });
            seen.length = Math.min(seen.length, KEPT);
            nothing.classList.add("hidden");
            feed.prepend(entry(seen[0]));
            flash(feed.firstChild);
            if (feed.children.length > KEPT) feed.lastChild.remove();
        },
    };
}

function entry(event) {
    const tables = Object.entries(event.tables ?? {});
    return h("li", {}, h("b", {}, `commit ${count(event.commit)}`), h("span", { class: "muted" }, event.at.toLocaleTimeString()),
        h("span", { class: "keys" }, tables.map(([name, keys]) => [h("span", { class: "muted" }, ...visible(name, 60), " "),
            keys === null ? "many rows " : [keys.slice(0, 8).map((key) => h("a", { href: rowAddress(name, key) }, ...visible(key, 40))),
                keys.length > 8 ? `and ${count(keys.length - 8)} more ` : ""]])));
}
