// Questions in SELECT: results as a grid, a chart of two columns, the plan as a tree, export, and earlier queries.

import { api } from "./api.js";
import { complete, quoted, schemaWords } from "./complete.js";
import { cellText } from "./cell.js";
import { chart } from "./draw.js";
import { exportLinks } from "./export.js";
import { Grid } from "./grid.js";
import { planTree } from "./plan.js";
import { byId, dialog, duration, flat, h, plural, problem, remembered, state, toast, visible } from "./dom.js";

const KEPT = 50;

/** The open queries; their results stay while the page is open. */
let kept;

function openQueries(otherwise) {
    const stored = remembered.read("tabs", []).filter?.((one) => typeof one?.text === "string") ?? [];
    if (!kept || !stored.length) kept = stored.length ? stored : [{ text: otherwise }];
    return kept;
}

export function queryView({ schema, options, main }) {
    return new QueryView(schema, options, main);
}

class QueryView {
    constructor(schema, options, main) {
        Object.assign(this, { schema, main });
        const earlier = remembered.read("queries", []);
        const first = schema.tables[0];
        this.at = -1;
        this.tab = "results";
        this.queries = openQueries(earlier[0] ?? (first ? `SELECT * FROM ${quoted(first.name)} LIMIT 100` : ""));
        this.text = h("textarea", { id: "query", rows: 5, "aria-label": "Query", oninput: () => this.changed() });
        this.text.addEventListener("keydown", (event) => this.pressed(event));
        this.open = h("div", { class: "tabs", id: "queries", role: "tablist", "aria-label": "Queries", onkeydown: (event) => this.pressedTab(event) });
        this.run = h("button", { type: "button", class: "main", id: "run", title: "Ctrl+Enter", onclick: () => this.start() }, "Run");
        this.stop = h("button", { type: "button", id: "cancel", disabled: true, onclick: () => this.cancel() }, "Cancel");
        this.status = h("span", { class: "muted", id: "status", role: "status" });
        this.exports = h("span", {});
        this.panel = h("div", { class: "panel", role: "tabpanel", id: "panel", "aria-label": "Results" });
        const tools = [["new-query", "+", "New query", () => this.add("")], ["name-query", "Name", "Name this query (F2)", () => this.rename()],
            ["close-query", "Close", "Close this query (Delete)", () => this.remove()]].map(([id, words, title, onclick]) => h("button", { type: "button", class: "quiet", id, title, "aria-label": title, onclick }, words));
        this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "What is shown" },
            [["results", "Results"], ["chart", "Chart"], ["plan", "Plan"], ["history", "History"]].map(([name, words]) => h("button", {
                type: "button", role: "tab", "data-tab": name, "aria-controls": "panel", onclick: () => this.show(name) }, words)));
        this.tabs.addEventListener("keydown", (event) => this.turned(event));
        main.replaceChildren(h("div", { class: "top" }, h("h1", {}, "Query"), h("span", { class: "muted" }, "SELECT over every table; nothing is written")),
            h("div", { class: "top queries" }, this.open, tools),
            h("div", { class: "editor" }, complete(this.text, schemaWords(schema, undefined, true))),
            h("div", { class: "top" }, this.run, this.stop, this.status, h("span", { class: "grow" }), this.exports), this.tabs, this.panel);
        const given = options.get("text");
        if (!given) this.turn(Math.min(this.queries.length - 1, remembered.read("tab", 0)));
        else if (this.queries.some((one) => one.text === given)) this.turn(this.queries.findIndex((one) => one.text === given));
        else this.add(given);
        if (given) this.start();
    }

    /** Shows another of the open queries, with its last result. */
    turn(index) {
        this.cancel();
        this.number = index;
        this.current = this.queries[index];
        this.text.value = this.current.text;
        remembered.write("tab", index);
        this.open.replaceChildren(...this.queries.map((one, place) => h("button", { type: "button", role: "tab", "aria-controls": "query", "aria-selected": String(place === index),
            tabindex: place === index ? 0 : -1, ondblclick: () => this.rename(), onclick: () => place === this.number || this.turn(place) }, ...visible(one.name || `Query ${place + 1}`, 40))));
        byId("close-query").disabled = this.queries.length < 2;
        this.describe();
        this.show("results");
    }

    add(text) {
        this.queries.push({ text });
        this.turn(this.queries.length - 1);
        this.save();
        this.text.focus();
    }

    remove() {
        if (this.queries.length < 2) return;
        const [gone] = this.queries.splice(this.number, 1);
        this.turn(Math.max(0, this.number - 1));
        this.save();
        this.open.children[this.number].focus();
        toast(`Closed: ${gone.name || gone.text.slice(0, 60) || "an empty query"}`, { name: "Undo", run: () => { this.queries.push(gone); this.save(); if (!this.closed) this.turn(this.queries.length - 1); } });
    }

    rename() {
        const name = h("input", { type: "text", id: "name", value: this.current.name ?? "", "aria-label": "Name", maxlength: 80, autocomplete: "off" });
        const form = h("form", { id: "name-form", class: "form", onsubmit: (event) => {
            event.preventDefault();
            this.current.name = name.value.trim() || undefined;
            this.save();
            box.close();
            this.turn(this.number);
        } }, name, h("p", { class: "muted" }, "The query stays here, also the next time this database is opened, until it is closed."));
        const box = dialog("Name this query", form, h("button", { type: "submit", class: "main", form: "name-form" }, "Save"));
        name.focus();
    }

    changed() {
        this.current.text = this.text.value;
        clearTimeout(this.saving);
        this.saving = setTimeout(() => this.save(), 400);
    }

    save() {
        clearTimeout(this.saving);
        this.saving = undefined;
        remembered.write("tabs", this.queries.map(({ name, text }) => ({ name, text })));
    }

    pressedTab(event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) this.turn((this.number + step + this.queries.length) % this.queries.length);
        else if (event.key === "F2") this.rename();
        else if (event.key === "Delete") this.remove();
        else return;
        event.preventDefault();
        if (step) this.open.children[this.number].focus();
    }

    pressed(event) {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.start();
        else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
            const earlier = remembered.read("queries", []);
            this.at = Math.min(earlier.length - 1, Math.max(-1, this.at + (event.key === "ArrowUp" ? 1 : -1)));
            if (this.at >= 0) { this.text.value = earlier[this.at]; this.changed(); }
        } else return;
        event.preventDefault();
    }

    turned(event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const all = [...this.tabs.children];
        const next = all[(all.findIndex((one) => one.dataset.tab === this.tab) + step + all.length) % all.length];
        this.show(next.dataset.tab);
        next.focus();
    }

    async start() {
        const text = this.text.value.trim();
        if (!text || this.running) return;
        this.changed();
        const running = this.running = { id: crypto.randomUUID(), text, stop: new AbortController() };
        this.run.disabled = true;
        this.stop.disabled = false;
        this.status.textContent = "Running…";
        this.keep(text);
        const question = this.current;
        try {
            question.result = await api.query(text, running.id, running.stop.signal);
            question.result.text = text;
            question.failure = undefined;
        } catch (error) {
            question.result = undefined;
            question.failure = { error, text };
        }
        this.running = undefined;
        this.run.disabled = false;
        this.stop.disabled = true;
        if (this.closed || question !== this.current) return;
        this.describe();
        this.show(this.tab === "history" || question.failure ? "results" : this.tab);
    }

    /** Shows the state of the open query, and the links to export its result. */
    describe() {
        const { result, failure } = this.current;
        this.status.textContent = failure ? (failure.error.cancelled ? "Cancelled" : "") : !result ? ""
            : `${result.cut ? "the first " : ""}${plural(result.rows.length, "row")} in ${duration(result.milliseconds)}`;
        this.exports.replaceChildren(...(result ? exportLinks((format) => api.exportQuery(result.text, format),
            (error) => this.panel.prepend(problem(error, result.text))) : []));
    }

    cancel() {
        if (!this.running) return;
        api.cancel(this.running.id);
        this.running.stop.abort();
    }

    keep(text) {
        const earlier = remembered.read("queries", []).filter((one) => one !== text);
        remembered.write("queries", [text, ...earlier].slice(0, KEPT));
        this.at = 0;
    }

    show(tab) {
        this.tab = tab;
        this.grid?.close();
        this.grid = undefined;
        for (const button of this.tabs.children) {
            const chosen = button.dataset.tab === tab;
            button.setAttribute("aria-selected", String(chosen));
            button.tabIndex = chosen ? 0 : -1;
        }
        if (tab === "history") this.panel.replaceChildren(this.historyPanel());
        else if (this.current.failure) this.panel.replaceChildren(problem(this.current.failure.error, this.current.failure.text));
        else if (!this.current.result) this.panel.replaceChildren(state("No results yet", "Write a SELECT above and press Ctrl+Enter. Ctrl+Space completes the word."));
        else ({ results: () => this.results(), chart: () => this.chartPanel(), plan: () => this.planPanel() })[tab]();
    }

    results() {
        const { result } = this.current;
        const rows = result.rows.map((cells, index) => ({ key: index, cells }));
        this.grid = new Grid({ columns: result.columns, total: rows.length, exact: true, page: async () => ({ rows, start: true, end: true }) }, {
            label: "Results", id: "results", empty: () => state("The query gives no rows", "Its conditions hold for none."),
        });
        const cut = result.cut ? h("p", { class: "muted" }, `Cut after ${plural(rows.length, "row")}: add LIMIT or a condition, or export all.`) : null;
        this.panel.replaceChildren(...[cut, this.grid.element].filter(Boolean));
        this.grid.start();
    }

    chartPanel() {
        const { columns, rows } = this.current.result;
        const numbers = columns.map((column, index) => ({ column, index })).filter(({ column, index }) => column.numeric
            || (rows.length && rows.every((row) => row[index] === null || row[index].kind === "int" || row[index].kind === "real")));
        if (columns.length < 2 || !numbers.length || !rows.length) {
            this.panel.replaceChildren(state("Nothing to draw", "A chart needs rows of two columns, one of them with numbers. Such as: SELECT name, count(*) … GROUP BY name"));
            return;
        }
        const value = numbers.find(({ index }) => index > 0) ?? numbers[0];
        this.drawn ??= { kind: "bars" };
        const label = columns.findIndex((_, index) => index !== value.index);
        const pick = (name, chosen, offered) => h("select", { "aria-label": name, "data-pick": name, onchange: () => draw() },
            offered.map(({ column, index }) => h("option", { value: index, selected: index === chosen }, flat(column.name))));
        const labels = pick("Labels", label, columns.map((column, index) => ({ column, index })));
        const values = pick("Values", value.index, numbers);
        const place = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Chart" });
        const kinds = ["bars", "line"].map((kind) => h("button", { type: "button", "data-kind": kind, onclick: () => { this.drawn.kind = kind; draw(); } },
            kind === "bars" ? "Bars" : "Line"));
        const draw = () => {
            const points = rows.slice(0, 500).filter((row) => row[values.value] !== null).map((row) => ({
                label: row[labels.value] === null ? "null" : cellText(row[labels.value]) || row[labels.value].name || "''", value: Number(cellText(row[values.value])) }))
                .filter((point) => Number.isFinite(point.value));
            kinds.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.kind === this.drawn.kind)));
            place.replaceChildren(points.length ? chart(points, this.drawn.kind, { label: columns[labels.value].name, value: columns[values.value].name }, this.panel.clientWidth)
                : state("Nothing to draw", "The column of values has no numbers."));
            if (rows.length > 500) place.append(h("p", { class: "muted" }, `The first 500 of ${plural(rows.length, "row")}.`));
        };
        this.panel.replaceChildren(h("div", { class: "top" }, h("span", { class: "muted" }, "Labels"), labels, h("span", { class: "muted" }, "Values"), values, kinds), place);
        draw();
    }

    async planPanel() {
        const { text } = this.current.result;
        this.panel.replaceChildren(h("p", { class: "loading" }, "Running the query for its plan…"));
        try {
            const answer = await api.explain(text, true);
            if (this.tab !== "plan" || this.closed) return;
            this.panel.replaceChildren(...planTree(answer));
        } catch (error) {
            if (this.tab === "plan") this.panel.replaceChildren(problem(error, text));
        }
    }

    historyPanel() {
        const earlier = remembered.read("queries", []);
        if (!earlier.length) return state("No earlier queries", "The last 50 that you run are listed here.");
        return h("ul", { class: "plain history" }, earlier.map((text) => h("li", {}, h("button", { type: "button", onclick: () => {
            this.text.value = text;
            this.start();
        } }, ...visible(text, 200)))));
    }

    close() {
        this.closed = true;
        if (this.saving) this.save();
        this.cancel();
        this.grid?.close();
    }
}
