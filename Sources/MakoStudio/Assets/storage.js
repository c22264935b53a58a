// Where the bytes of the file are: trees as a treemap, pages by kind, the log, and what holds old pages.

import { api } from "./api.js";
import { treemap } from "./draw.js";
import { bytes, count, h, plural, visible } from "./dom.js";

export async function storageView({ main, isCurrent }) {
    main.replaceChildren(h("h1", {}, "Storage"), h("p", { class: "loading", role: "status" }, "Reading the pages…"));
    const draw = async () => {
        const found = await api.storage();
        if (isCurrent()) main.replaceChildren(...parts(found, draw, main.clientWidth - (innerWidth > 760 ? 40 : 24)));
    };
    await draw();
    return undefined;
}

function parts(found, again, room) {
    const items = found.trees.map((tree) => ({ name: tree.name, size: tree.bytes, kind: tree.kind, label: tree.kind, table: tree.table }));
    if (found.free) items.push({ name: "free pages", size: found.free, kind: "free" });
    items.sort((one, other) => other.size - one.size);
    return [
        h("div", { class: "top" }, h("h1", {}, "Storage"), h("span", { class: "grow" }), h("button", { type: "button", onclick: again }, "Read again")),
        h("div", { class: "tiles" }, facts(found).map(([value, name]) => h("div", {}, h("b", {}, value), h("span", {}, ...visible(name, 120))))),
        h("h2", {}, "Sizes"),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Treemap" }, treemap(items, (item) => {
            if (item.table) location.hash = `#/table/${encodeURIComponent(item.table)}`;
        }, room)),
        h("h2", {}, "Trees"), treeTable(found), h("h2", {}, "Pages"), pageTable(found),
    ];
}

function facts(found) {
    const all = [[bytes(found.size), "in the file"], [bytes(found.log?.bytes ?? 0), found.log?.frames === undefined ? "in the log"
        : `in the log, ${plural(found.log.frames, "frame")}`]];
    if (found.free !== undefined) all.push([bytes(found.free), "free for reuse"]);
    if (found.compression) all.push([`${(found.compression.whole / Math.max(1, found.compression.stored)).toFixed(1)} : 1`, "compression of what is compressed"]);
    all.push([bytes(found.pageSize), "per page"]);
    const oldest = found.snapshots?.oldest;
    all.push(oldest ? [`commit ${count(oldest.commit)}`, `oldest snapshot${oldest.holder ? `, of ${oldest.holder}` : ""}`] : ["none", "older snapshot in use"]);
    return all;
}

function sheet(names, lines, label) {
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "sheet" },
        h("thead", {}, h("tr", {}, names.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))), h("tbody", {}, lines)));
}

const share = (number) => (number === undefined || number === null ? "" : `${Math.round(number * 100)} %`);

function treeTable(found) {
    return sheet([["Name"], ["Kind"], ["Size", "number"], ["Fill", "number"]], found.trees.map((tree) => h("tr", {},
        h("td", {}, tree.table ? h("a", { href: `#/table/${encodeURIComponent(tree.table)}` }, ...visible(tree.name, 120)) : visible(tree.name, 120)),
        h("td", { class: "muted" }, tree.kind), h("td", { class: "number" }, bytes(tree.bytes)), h("td", { class: "number" }, share(tree.fill)))), "Trees");
}

function pageTable(found) {
    return sheet([["Kind"], ["Pages", "number"], ["Size", "number"], ["Fill", "number"]], found.pages.map((page) => h("tr", {},
        h("td", {}, page.kind), h("td", { class: "number" }, count(page.count)), h("td", { class: "number" }, bytes(page.bytes ?? page.count * found.pageSize)),
        h("td", { class: "number" }, share(page.fill)))), "Pages");
}
