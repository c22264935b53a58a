// Where the bytes of the file are: trees as a treemap, pages by kind, the log, and what holds old pages.

import { api } from "./api.js";
import { treemap } from "./draw.js";
import { bytes, count, duration, h, plural, problem, visible } from "./dom.js";

export async function storageView({ main, isCurrent }) {
    main.replaceChildren(h("h1", {}, "Storage"), h("p", { class: "loading", role: "status" }, "Reading the pages…"));
    const run = { stopped: false };
    const draw = async () => {
        run.stopped = true;
        const found = await api.storage();
        if (isCurrent()) main.replaceChildren(...parts(found, draw, main.clientWidth - (innerWidth > 760 ? 40 : 24), isCurrent, run));
    };
    await draw();
    return { close: () => { run.stopped = true; } };
}

function parts(found, again, room, isCurrent, run) {
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
        counted(found, isCurrent, run),
    ];
}

/** The tables of trees and pages, and the button that counts every page of the file for them, part after part. */
function counted(found, isCurrent, run) {
    const place = h("div");
    const show = (pages, ...above) => place.replaceChildren(
        h("h2", {}, "Pages"), ...above, pageTable(pages ?? found), h("h2", {}, "Trees"), treeTable(pages ?? found));
    const button = h("button", { type: "button", id: "count-pages", onclick: () => start() }, "Count by kind and fill");
    const offer = (words) => h("p", { class: "counting" }, button, h("span", { class: "muted" }, words));
    async function start() {
        run.stopped = false;
        const sums = new Map();
        const bar = h("progress", { max: 1, value: 0, "aria-label": "Pages counted" });
        const words = h("span", { class: "muted", role: "status" }, "Reading the file…");
        show(undefined, h("p", { class: "counting" }, bar, words, h("button", { type: "button", id: "stop-count", onclick: () => { run.stopped = true; } }, "Stop")));
        let from = 0;
        try {
            for (;;) {
                const part = await api.pages(from);
                if (!isCurrent()) return;
                for (const one of part.counts) add(sums, one);
                from = part.next;
                bar.max = part.total;
                bar.value = from;
                words.textContent = `${count(from)} of ${count(part.total)} pages`;
                if (part.end) { show(inKinds(found, sums), offer(`${count(part.total)} pages counted, as of the last checkpoint.`)); return; }
                if (run.stopped) { show(inKinds(found, sums), offer(`Stopped after ${count(from)} of ${count(part.total)} pages: the numbers are of these alone.`)); return; }
            }
        } catch (error) {
            show(undefined, problem(error), offer(""));
        }
    }
    show(undefined, offer("Reads the whole file; it can be stopped."));
    return place;
}

function add(sums, { kind, tree, pages, used }) {
    const key = JSON.stringify([kind, tree ?? null]);
    const sum = sums.get(key) ?? { kind, tree, pages: 0, used: used === undefined ? undefined : 0 };
    sum.pages += pages;
    if (used !== undefined) sum.used += used;
    sums.set(key, sum);
}

const KINDS = { leaf: "leaves", inner: "inner pages", value: "large values", fixed: "maps and directory", free: "free", unknown: "replaced or damaged" };

/** What was counted, in the form of the answer about the storage. */
function inKinds(found, sums) {
    const grouped = (name) => {
        const groups = new Map();
        for (const one of sums.values()) {
            const group = groups.get(one[name]) ?? { pages: 0, filled: 0, used: 0 };
            group.pages += one.pages;
            if (one.used !== undefined) { group.filled += one.pages; group.used += one.used; }
            groups.set(one[name], group);
        }
        return groups;
    };
    const fill = (group) => (group.filled ? group.used / (group.filled * found.pageSize) : undefined);
    const trees = grouped("tree");
    return {
        pageSize: found.pageSize,
        pages: [...grouped("kind")].map(([kind, group]) => ({ kind: KINDS[kind] ?? kind, count: group.pages, fill: fill(group) }))
            .sort((one, other) => other.count - one.count),
        trees: found.trees.map((tree) => ({ ...tree, estimated: false, bytes: (trees.get(tree.name)?.pages ?? 0) * found.pageSize, fill: fill(trees.get(tree.name) ?? {}) })),
    };
}

function facts(found) {
    const all = [[bytes(found.size), "in the file"], [bytes(found.log?.bytes ?? 0), !found.log?.files ? "in the log"
        : `in the log, ${plural(found.log.files, "file")}`]];
    if (found.free !== undefined) all.push([bytes(found.free), "free for reuse"]);
    all.push([bytes(found.pageSize), "per page"]);
    const oldest = found.snapshots?.oldest;
    const age = oldest?.age === undefined ? "" : `, for ${duration(oldest.age * 1000)}`;
    all.push(oldest ? [`commit ${count(oldest.commit)}`, `oldest snapshot${oldest.holder ? `, of ${oldest.holder}` : ""}${age}`] : ["none", "older snapshot in use"]);
    return all;
}

function sheet(names, lines, label) {
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "sheet" },
        h("thead", {}, h("tr", {}, names.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))), h("tbody", {}, lines)));
}

const share = (number) => (number === undefined || number === null ? "" : `${Math.round(number * 100)} %`);

function treeTable(found) {
    const filled = found.trees.some((tree) => tree.fill !== undefined);
    const size = found.trees.some((tree) => tree.estimated) ? "Size, estimated" : "Size";
    return sheet([["Name"], ["Kind"], [size, "number"], ...(filled ? [["Fill", "number"]] : [])], found.trees.map((tree) => h("tr", {},
        h("td", {}, tree.table ? h("a", { href: `#/table/${encodeURIComponent(tree.table)}` }, ...visible(tree.name, 120)) : visible(tree.name, 120)),
        h("td", { class: "muted" }, tree.kind), h("td", { class: "number" }, bytes(tree.bytes)), filled ? h("td", { class: "number" }, share(tree.fill)) : null)), "Trees");
}

function pageTable(found) {
    const filled = found.pages.some((page) => page.fill !== undefined);
    return sheet([["Kind"], ["Pages", "number"], ["Size", "number"], ...(filled ? [["Fill", "number"]] : [])], found.pages.map((page) => h("tr", {},
        h("td", {}, page.kind), h("td", { class: "number" }, count(page.count)), h("td", { class: "number" }, bytes(page.bytes ?? page.count * found.pageSize)),
        filled ? h("td", { class: "number" }, share(page.fill)) : null)), "Pages");
}
