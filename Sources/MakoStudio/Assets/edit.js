// Write mode: a form for one row, the statement before it runs, and the undo of the last save.

import { api } from "./api.js";
import { cellText } from "./cell.js";
import { dialog, h, problem, toast, visible } from "./dom.js";

export const insertRow = (table, schema) => form(table, undefined, undefined, schema);
export const editRow = (table, row, column, schema) => form(table, row, column, schema);

/** The number of this page's last save: another page may have saved since. */
let last;

export async function undoLast(save = last) {
    try {
        const done = await api.undo(save);
        toast(`Undone: ${done.statement}`);
    } catch (error) {
        toast(error.message);
    }
}

function saved(done) {
    last = done.save;
    toast(`Saved: ${done.statement}`, { name: "Undo", run: () => undoLast(done.save) });
}

export function deleteRow(table, row) {
    return confirmed(`Delete the row ${row.key} of ${table.name}?`, { table: table.name, kind: "delete", key: row.key }, "Delete", "danger");
}

/** Shows the statement of a change, and saves it when the user says so. */
function confirmed(title, change, name, kind) {
    return new Promise((resolve) => {
        const shown = h("div", { class: "statement" }, h("pre", { class: "muted" }, "…"));
        const button = h("button", { type: "button", class: kind, disabled: true, onclick: async () => {
            button.disabled = true;
            try {
                saved(await api.save(change));
                resolve(true);
                box.close();
            } catch (error) { shown.replaceChildren(problem(error)); }
        } }, name);
        const box = dialog(title, h("p", { class: "muted" }, "The statement that will run:"), shown, button);
        box.addEventListener("close", () => resolve(false));
        api.preview(change).then((preview) => {
            shown.replaceChildren(h("pre", {}, ...visible(preview.statement, 4000, false)));
            button.disabled = false;
            button.focus();
        }, (error) => shown.replaceChildren(problem(error)));
    });
}

class Form {
    constructor(table, row, schema) {
        Object.assign(this, { table, row, schema });
        this.fields = table.columns.map((column, index) => this.field(column, row?.cells[index])).filter(Boolean);
        this.shown = h("div", { class: "statement" });
        this.save = h("button", { type: "submit", class: "main", form: "row-form" }, "Save");
    }

    field(column, cell) {
        if (column.kind === "blob" || cell?.kind === "blob" || cell?.cut || column.fixed || (column.key && this.row)) return undefined;
        // A reference to any table has a text that names the table.
        const text = cell?.kind === "link" ? cell.text ?? cell.key : cellText(cell);
        const id = `field-${column.name}`;
        const field = { column, was: cell === null ? null : text };
        field.input = column.kind === "bool"
            ? h("select", { id }, ["false", "true"].map((one) => h("option", { value: one, selected: one === text }, one)))
            : text.length > 60 || text.includes("\n") || column.kind === "json" ? h("textarea", { id, rows: Math.min(8, Math.max(2, text.split("\n").length)), value: text, dir: "auto" })
                : h("input", { id, type: "text", value: text, dir: "auto", placeholder: column.key && !this.row ? "assigned when empty" : null, autocomplete: "off", spellcheck: "false" });
        // The control's own value: it has other line breaks than the text, which is not a change by the user.
        field.shown = cell === null ? null : field.input.value;
        field.null = column.nullable ? h("input", { type: "checkbox", checked: cell === null || (!this.row && cell === undefined) }) : undefined;
        const list = column.target && column.target !== "*" ? this.picker(field) : undefined;
        field.input.addEventListener("input", () => { if (field.null) field.null.checked = false; this.preview(); });
        field.null?.addEventListener("change", () => this.preview());
        field.element = h("div", {}, h("label", { class: "field", for: id }, ...visible(column.name, 80), " ", h("span", {}, column.target ? `→ ${column.target}`
            : column.detail ?? "")), h("div", { class: "control" }, h("div", {}, field.input, list),
            field.null ? h("label", { class: "null-box" }, field.null, "null") : null));
        if (field.input.tagName !== "SELECT") field.input.style.width = "100%";
        return field;
    }

    /** The rows of the other table whose name or key begins with what is typed. */
    picker(field) {
        const list = h("ul", { class: "words picker", role: "listbox", "aria-label": `Rows of ${field.column.target}`, hidden: true });
        let turn = 0;
        const look = async () => {
            const mine = ++turn;
            const found = await api.find(field.column.target, field.input.value).catch(() => ({ rows: [] }));
            if (mine !== turn || document.activeElement !== field.input) return;
            list.replaceChildren(...found.rows.map((row) => h("li", { role: "option", onpointerdown: (event) => { event.preventDefault(); take(row.key); },
                "data-key": row.key }, h("span", { class: "value", dir: "auto" }, ...visible(row.name ?? row.key, 60)), h("small", {}, ...visible(row.key, 40)))));
            list.hidden = !found.rows.length;
        };
        const take = (key) => {
            field.input.value = key;
            list.hidden = true;
            turn += 1;
            if (field.null) field.null.checked = false;
            this.preview();
        };
        field.input.addEventListener("focus", look);
        field.input.addEventListener("input", look);
        field.input.addEventListener("blur", () => { list.hidden = true; turn += 1; });
        field.input.addEventListener("keydown", (event) => {
            if (list.hidden || !["ArrowDown", "ArrowUp", "Enter", "Escape"].includes(event.key)) return;
            const items = [...list.children];
            const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
            if (event.key === "Enter" && at < 0) return;
            event.preventDefault();
            event.stopPropagation();
            if (event.key === "Escape") list.hidden = true;
            else if (event.key === "Enter") take(items[at].dataset.key);
            else {
                const next = (at + (event.key === "ArrowDown" ? 1 : items.length - (at < 0 ? 0 : 1))) % items.length;
                items.forEach((item, index) => item.setAttribute("aria-selected", String(index === next)));
                items[next].scrollIntoView({ block: "nearest" });
            }
        });
        return list;
    }

    change() {
        const [values, was] = [Object.create(null), Object.create(null)];
        for (const field of this.fields) {
            const value = field.null?.checked ? null : field.input.value;
            const untouched = this.row ? value === field.shown : field.null?.checked || (value === "" && (field.column.key || field.column.optional));
            if (!untouched) [values[field.column.name], was[field.column.name]] = [value, field.was];
        }
        return { table: this.table.name, kind: this.row ? "update" : "insert", key: this.row?.key, values, was: this.row ? was : undefined };
    }

    async preview() {
        const change = this.change();
        const turn = this.turn = (this.turn ?? 0) + 1;
        this.save.disabled = true;
        if (this.row && !Object.keys(change.values).length) {
            this.shown.replaceChildren(h("p", { class: "muted" }, "Nothing is changed yet."));
            return;
        }
        try {
            const { statement } = await api.preview(change);
            if (turn !== this.turn) return;
            this.shown.replaceChildren(h("pre", {}, ...visible(statement, 4000, false)));
            this.save.disabled = false;
        } catch (error) {
            if (turn === this.turn) this.shown.replaceChildren(problem(error));
        }
    }
}

function form(table, row, column, schema) {
    return new Promise((resolve) => {
        const made = new Form(table, row, schema);
        const skipped = table.columns.length - made.fields.length - (row ? table.columns.filter((one) => one.key).length : 0);
        const element = h("form", { id: "row-form", class: "form", onsubmit: async (event) => {
            event.preventDefault();
            made.save.disabled = true;
            try {
                saved(await api.save(made.change()));
                resolve(true);
                box.close();
            } catch (error) { made.shown.replaceChildren(problem(error)); }
        } }, made.fields.map((field) => field.element),
        skipped > 0 ? h("p", { class: "muted" }, `${skipped} more: bytes and long texts are changed by programs only.`) : null);
        const box = dialog(row ? `Edit ${table.name} ${row.key}` : `Insert into ${table.name}`, element, made.shown, made.save);
        box.addEventListener("close", () => resolve(false));
        const first = made.fields.find((field) => field.column.name === column?.name) ?? made.fields[0];
        first?.input.focus();
        made.preview();
    });
}
