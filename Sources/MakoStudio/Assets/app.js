// Starts the page: routes, the list of tables, the theme, and the keys that work everywhere.

import { api, live } from "./api.js";
import { byId, count, dialog, flat, h, problem, remembered, state, toast, visible } from "./dom.js";
import { tablesView } from "./tables.js";
import { rowsView } from "./rows.js";
import { rowView } from "./row.js";
import { queryView } from "./query.js";
import { liveView } from "./live.js";
import { timeView } from "./time.js";
import { storageView } from "./storage.js";
import { schemaView } from "./schema.js";
import { SHORTCUTS } from "./keys.js";

const VIEWS = [
    { path: "", name: "Tables", key: "t", view: tablesView },
    { path: "query", name: "Query", key: "q", view: queryView },
    { path: "live", name: "Live", key: "l", view: liveView },
    { path: "time", name: "Time", key: "h", view: timeView },
    { path: "storage", name: "Storage", key: "p", view: storageView },
    { path: "schema", name: "Schema", key: "d", view: schemaView },
];

const app = { schema: undefined, current: undefined, turn: 0 };

/** The parts of `#/table/Person/7?where=…`. */
function route() {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const parts = path.split("/").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
    return { parts, options: new URLSearchParams(query) };
}

async function show() {
    const turn = ++app.turn;
    const { parts, options } = route();
    app.current?.close?.();
    app.current = undefined;
    const main = byId("main");
    closeMenu();
    markCurrent(parts);
    if (!app.schema) return;
    const view = parts[0] === "table" ? (parts[2] !== undefined ? rowView : rowsView)
        : VIEWS.find((one) => one.path === parts[0])?.view;
    main.classList.toggle("fill", view === rowsView);
    main.scrollTop = 0;
    if (!view) {
        app.current = {};
        main.replaceChildren(state("There is no such view", "The address names no view of this page.",
            h("a", { class: "button", href: "#/" }, "Show the tables")));
        return;
    }
    const context = { schema: app.schema, parts, options, main, isCurrent: () => turn === app.turn };
    try {
        const shown = await view(context);
        if (turn === app.turn) app.current = shown ?? {};
        else shown?.close?.();
    } catch (error) {
        if (turn === app.turn) { app.current = {}; failed(main, error); }
    }
    hand(app.waiting);
    title(parts);
}

function failed(main, error) {
    main.classList.remove("fill");
    main.replaceChildren(h("div", { class: "state" }, problem(error),
        h("div", { class: "actions" }, h("button", { type: "button", onclick: show }, "Try again"),
            h("a", { class: "button", href: "#/" }, "Show the tables"))));
}

function title(parts) {
    const name = parts[0] === "table" ? parts.slice(1).join(" ") : VIEWS.find((one) => one.path === parts[0])?.name ?? "";
    document.title = flat(`${name ? `${name} · ` : ""}${app.schema?.file ?? "Mako Studio"}`);
}

// MARK: The list at the side

function drawSide() {
    const filter = h("input", { id: "find", type: "search", placeholder: "Find a table", "aria-label": "Find a table",
        autocomplete: "off", oninput: () => drawTables(filter.value) });
    filter.addEventListener("keydown", (event) => {
        if (event.key === "Enter") byId("tables").querySelector("a")?.click();
        if (event.key === "ArrowDown") { byId("tables").querySelector("a")?.focus(); event.preventDefault(); }
    });
    byId("side").replaceChildren(
        h("ul", {}, VIEWS.map((one) => h("li", {}, h("a", { href: `#/${one.path}`, "data-view": one.path },
            h("span", { class: "name" }, one.name), h("kbd", { "aria-hidden": "true" }, `g ${one.key}`))))),
        filter, h("ul", { id: "tables" }));
    byId("side").addEventListener("keydown", walk);
    drawTables("");
}

function walk(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [...byId("side").querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (at < 0) return;
    links[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
    event.preventDefault();
}

function drawTables(text) {
    const wanted = text.trim().toLowerCase();
    const tables = app.schema.tables.filter((table) => table.name.toLowerCase().includes(wanted));
    byId("tables").replaceChildren(...tables.map((table) => h("li", {},
        h("a", { href: `#/table/${encodeURIComponent(table.name)}`, "data-table": table.name },
            h("span", { class: "name" }, ...visible(table.name, 80)),
            h("span", { class: "count" }, `${table.exact ? "" : "~"}${count(table.rows)}`)))),
    ...(tables.length ? [] : [h("li", { class: "muted", role: "note" }, wanted ? "No table has this in its name." : "No tables yet.")]));
    markCurrent(route().parts);
}

function markCurrent(parts) {
    for (const link of byId("side").querySelectorAll("a")) {
        const current = parts[0] === "table" ? link.dataset.table === parts[1] : link.dataset.view === parts[0];
        if (current) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    }
}

function toggleMenu() {
    const open = byId("side").classList.toggle("open");
    byId("menu").setAttribute("aria-expanded", String(open));
    if (open) byId("side").querySelector("a")?.focus();
}

function closeMenu() {
    byId("side").classList.remove("open");
    byId("menu").setAttribute("aria-expanded", "false");
}

const THEMES = ["auto", "light", "dark"];
function applyTheme() {
    const chosen = remembered.read("theme", "auto");
    if (chosen === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    const button = byId("theme");
    button.replaceChildren({ auto: "◐", light: "○", dark: "●" }[chosen]);
    button.setAttribute("aria-label", `Theme: ${chosen}`);
    button.title = `Theme: ${chosen} (press to change)`;
}

function nextTheme() {
    remembered.write("theme", THEMES[(THEMES.indexOf(remembered.read("theme", "auto")) + 1) % THEMES.length]);
    applyTheme();
}

function help() {
    if (document.querySelector("dialog[open]")) return;
    dialog("Keyboard shortcuts", h("div", {}, SHORTCUTS.map((group) => [h("h2", {}, group.name),
        h("dl", { class: "keys" }, group.keys.map(([keys, what]) => [
            h("dt", {}, keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, what)]))])));
}

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");
let prefix = 0;

function pressed(event) {
    if (event.key === "Escape") { closeMenu(); if (typing(event.target) && !event.target.closest("dialog")) event.target.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || event.target.closest?.("dialog")) return;
    if (prefix && performance.now() - prefix < 1500) {
        prefix = 0;
        const view = VIEWS.find((one) => one.key === event.key);
        if (view) { location.hash = `#/${view.path}`; byId("main").focus(); event.preventDefault(); }
        return;
    }
    prefix = 0;
    if (event.key === "g") prefix = performance.now();
    else if (event.key === "?") help();
    else if (event.key === "/") { const box = byId("find"); if (innerWidth <= 760) toggleMenu(); box?.focus(); box?.select(); }
    else if (event.key === "f") byId("where")?.focus();
    else if (event.key === "p") pressPin();
    else return;
    event.preventDefault();
}

// MARK: The pinned commit

function drawPin() {
    const { pin } = app.schema;
    const button = byId("pin");
    button.replaceChildren(h("span", { class: "pin-mark", "aria-hidden": "true" }), h("span", { class: "says" }, pin ? `Release ${count(pin.commit)}` : "Pin"));
    button.dataset.pinned = String(Boolean(pin));
    button.title = pin ? `Rows are compared with commit ${count(pin.commit)}${pin.copy ? ` of ${pin.copy}` : ""}; press to release it`
        : "Pin the newest commit, and compare rows with it from now on";
    button.setAttribute("aria-label", pin ? `Release commit ${pin.commit}` : "Pin the newest commit");
}

async function pressPin() {
    try {
        const pin = app.schema.pin ? await api.unpin().then(() => null) : await api.pin();
        app.schema.pin = pin;
        toast(pin ? `Commit ${count(pin.commit)} is pinned: rows show what differs from it.` : "No commit is pinned now.");
    } catch (error) {
        toast(error.message);
    }
    drawPin();
    await show();
}

// MARK: Live

function pulse(on, words) {
    byId("pulse").replaceChildren(h("span", { class: `dot ${on ? "on" : "off"}` }), h("span", { class: "says" }, words));
    byId("pulse").title = words;
}

function follow() {
    live.onstate = (on) => pulse(on, on ? "live" : "not connected");
    live.since = app.schema.commit;
    live.onmissed = () => catchUp().catch(() => {});
    live.listen((event) => {
        live.since = event.commit;
        pulse(true, `commit ${count(event.commit)}`);
        for (const table of app.schema.tables) {
            if (event.counts && Object.hasOwn(event.counts, table.name)) table.rows = event.counts[table.name];
        }
        drawCounts();
        if (event.schema) reloadSchema().then(show);
        hand(event);
    });
}

/** Gives changes to the view one at a time; those that come meanwhile, or while a view opens, become one. */
async function hand(event) {
    app.waiting = app.waiting && app.waiting !== event ? merged(app.waiting, event) : event;
    if (app.handing) return;
    app.handing = true;
    while (app.waiting && app.current) {
        const next = app.waiting;
        app.waiting = undefined;
        const began = performance.now();
        try { await app.current.changed?.(next); } catch { /* The view shows its own errors; the next change tries again. */ }
        // What takes long to read, such as a sort, is read half of the time at most: it takes the processor from the writer.
        const took = performance.now() - began;
        if (took > 200) await new Promise((done) => { setTimeout(done, Math.min(5000, took)); });
    }
    app.handing = false;
}

function merged(one, other) {
    const tables = new Map(Object.entries(one.tables ?? {}));
    for (const [name, keys] of Object.entries(other.tables ?? {})) {
        const known = tables.has(name) ? tables.get(name) : [];
        tables.set(name, known === null || keys === null ? null : known.concat(keys));
    }
    return { ...other, tables: Object.fromEntries(tables) };
}

/** After a pause of the connection: reads counts and what is in sight again. */
async function catchUp() {
    const names = JSON.stringify(app.schema.tables.map((table) => [table.name, table.columns.length]));
    const fresh = await api.schema();
    if (JSON.stringify(fresh.tables.map((table) => [table.name, table.columns.length])) !== names) {
        await reloadSchema();
        await show();
        return;
    }
    app.schema.pin = fresh.pin;
    drawPin();
    fresh.tables.forEach((table, index) => { app.schema.tables[index].rows = table.rows; });
    drawCounts();
    if (byId("main").querySelector("#feed")) return;
    hand({ commit: fresh.commit, tables: Object.fromEntries(fresh.tables.map((table) => [table.name, null])) });
}

function drawCounts() {
    const tables = new Map(app.schema.tables.map((table) => [table.name, table]));
    for (const link of byId("side").querySelectorAll("#tables a")) {
        const table = tables.get(link.dataset.table);
        if (table) link.lastChild.textContent = `${table.exact ? "" : "~"}${count(table.rows)}`;
    }
}

async function reloadSchema() {
    app.schema = await api.schema();
    byId("file").replaceChildren(...visible(app.schema.file, 200));
    byId("file").title = app.schema.path ?? app.schema.file;
    byId("mode").replaceChildren(h("span", { class: `badge${app.schema.writable ? " warn" : ""}` },
        app.schema.writable ? "write mode" : "read only"));
    drawPin();
    drawSide();
}

async function start() {
    applyTheme();
    byId("theme").addEventListener("click", nextTheme);
    byId("menu").append("☰");
    byId("menu").addEventListener("click", toggleMenu);
    byId("pin").addEventListener("click", pressPin);
    byId("help").addEventListener("click", help);
    byId("main").addEventListener("pointerdown", closeMenu);
    document.addEventListener("keydown", pressed);
    addEventListener("hashchange", show);
    try {
        for (const [name, value] of Object.entries(await api.remembered())) remembered.write(name, value);
        remembered.keep = (name, value) => api.remember(name, value).catch(() => {});
        applyTheme();
        await reloadSchema();
    } catch (error) {
        failed(byId("main"), error);
        return;
    }
    await show();
    document.documentElement.dataset.ready = "true";
    follow();
}

start();
