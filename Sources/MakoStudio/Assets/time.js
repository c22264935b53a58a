// Commits of a kept history, and what each of them changed.

import { api } from "./api.js";
import { cellContent, rowAddress } from "./cell.js";
import { count, h, plural, problem, state, visible } from "./dom.js";

export async function timeView({ options, main, isCurrent }) {
    main.replaceChildren(h("h1", {}, "Time"), h("p", { class: "loading", role: "status" }, "Reading the history…"));
    const found = await api.commits();
    if (!isCurrent()) return undefined;
    if (!found.kept || !found.commits.length) {
        main.replaceChildren(h("h1", {}, "Time"), found.kept ? state("The history is empty", "It grows with the next commit.")
            : state("This database keeps no history", found.advice ?? "A program that opens it with a history keeps the commits of the past, and this view shows what each changed."));
        return undefined;
    }
    const view = new TimeView(main, found);
    await view.choose(Number(options.get("commit")) || found.commits[0].commit);
    return view;
}

class TimeView {
    constructor(main, found) {
        this.commits = found.commits;
        this.list = h("div", { class: "commits", role: "group", "aria-label": "Commits" });
        this.list.addEventListener("keydown", (event) => this.pressed(event));
        this.detail = h("div", { id: "commit" });
        this.end = found.end;
        main.replaceChildren(h("div", { class: "top" }, h("h1", {}, "Time"), h("span", { class: "muted" }, "what each commit changed")),
            h("div", { class: "split" }, this.list, this.detail));
        this.draw();
    }

    draw() {
        this.list.replaceChildren(...this.commits.map((one) => h("button", { type: "button", "data-commit": one.commit,
            "aria-current": one.commit === this.chosen ? "true" : null, onclick: () => this.choose(one.commit) },
        h("span", {}, count(one.commit), " ", h("span", { class: "muted" }, one.date ?? "")), h("span", { class: "muted" }, one.rows === undefined ? "" : plural(one.rows, "row")))),
        ...(this.end ? [] : [h("button", { type: "button", id: "older", onclick: () => this.older() }, "Older commits")]));
    }

    async older() {
        const last = () => this.commits[this.commits.length - 1].commit;
        const before = last();
        const page = await api.commits(before);
        if (last() !== before) return;  // The list began anew, or has this page.
        this.commits = this.commits.concat(page.commits);
        this.end = page.end;
        this.draw();
    }

    pressed(event) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!step) return;
        const at = this.commits.findIndex((one) => one.commit === this.chosen);
        if (at < 0) return;
        const next = this.commits[at + step];
        event.preventDefault();
        if (next) this.choose(next.commit).then(() => this.list.querySelector("[aria-current]")?.focus());
    }

    async choose(number) {
        this.chosen = number;
        for (const button of this.list.children) {
            if (button.dataset.commit === String(number)) button.setAttribute("aria-current", "true");
            else button.removeAttribute("aria-current");
        }
        try {
            const commit = await api.commit(number);
            if (this.chosen !== number) return;
            this.detail.replaceChildren(h("h2", {}, `Commit ${count(commit.commit)}`, h("span", { class: "muted" }, ` ${commit.date ?? ""}`)),
                commit.changes.length ? changes(commit) : h("p", { class: "muted" }, "It changed no row: a change of the schema, or of something beside the rows."),
                h("p", { class: "muted" }, commit.pin ? `The history holds no values: these are of the newest commit, and of the pinned commit ${count(commit.pin.commit)}.`
                    : "The history holds no values: these are of the newest commit. Pin a commit to see its values beside those of later ones."),
                ...(commit.cut ? [h("p", { class: "muted" }, `The first ${plural(commit.changes.length, "change")}.`)] : []));
        } catch (error) {
            if (this.chosen === number) this.detail.replaceChildren(problem(error));
        }
    }

    async changed() {
        const page = await api.commits().catch(() => undefined);
        if (!page?.commits?.length) return;
        const newest = this.commits[0].commit;
        const later = page.commits.filter((one) => one.commit > newest);
        // Where a page has later commits alone, others lie between: the list begins anew, and Older reads on from its end.
        if (later.length === page.commits.length) [this.commits, this.end] = [later, page.end];
        else this.commits = later.concat(this.commits);
        this.draw();
    }
}

const KINDS = { insert: ["good", "inserted"], update: ["warn", "changed"], delete: ["bad", "deleted"] };

function changes({ changes: list, pin }) {
    const names = ["Row", "Change", "Column", ...(pin ? [`Commit ${count(pin.commit)}`] : []), "Now"];
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Changes" }, h("table", { class: "sheet" },
        h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, list.flatMap((one) => change(one, Boolean(pin))))));
}

function change(one, isPinned) {
    const [kind, word] = KINDS[one.kind] ?? ["", one.kind];
    const columns = one.columns?.length ? one.columns : [undefined];
    const value = (column, cell, name) => h("td", {}, column && cell !== undefined ? h("span", { class: name }, cellContent(cell, column)) : "");
    return columns.map((column, index) => {
        const differs = column && JSON.stringify(column.pinned) !== JSON.stringify(column.is);
        return h("tr", {},
            h("td", {}, index ? "" : h("a", { href: rowAddress(one.table, one.key) }, ...visible(one.table, 60), " ", ...visible(one.key, 60))),
            h("td", {}, index ? "" : h("span", { class: `badge ${kind}` }, word)),
            h("td", {}, column ? visible(column.name, 80) : ""),
            isPinned ? value(column, column?.pinned, differs ? "was" : "same") : null, value(column, column?.is, "is"));
    });
}
