// The values of a column with how often each occurs, and conditions made of values.

import { api } from "./api.js";
import { cellContent } from "./cell.js";
import { quoted } from "./complete.js";
import { count, dialog, h, plural, problem, state, visible } from "./dom.js";

const SHOWN = 50;
const PLAIN = new Set(["int", "real", "bool"]);
const QUOTED = new Set(["text", "date", "uuid", "json", "color"]);
const TYPED = new Set(["text", "date", "uuid"]);

/** The condition that a column has a value; undefined where a text cannot say it: bytes, cut texts, infinite numbers, references to any table.
    The type of the column decides how a key is written: a text of digits is a text. */
export function equals(column, cell) {
    if (cell === undefined) return undefined;
    const name = quoted(column.name);
    if (cell === null) return `${name} IS NULL`;
    const text = cell.kind === "link" ? cell.key : cell.text;
    if (text === undefined || cell.cut || cell.encrypted || column.target === "*") return undefined;
    if (cell.kind === "link" ? !TYPED.has(column.detail) : PLAIN.has(cell.kind)) return /^(true|false|-?[\d.]+(e[+-]?\d+)?)$/i.test(text) ? `${name} = ${text}` : undefined;
    return cell.kind === "link" || QUOTED.has(cell.kind) ? `${name} = '${text.replaceAll("'", "''")}'` : undefined;
}

/** A condition that more can follow: a comment at its end is closed. A remainder with a quote may be within a text, and stays. */
export const closed = (where) => where.replace(/--([^'"*]*)$/, "/*$1 */");

/** Rows for which an earlier condition holds, and one more. */
export const narrowed = (where, more) => (where ? `${/\bor\b/i.test(where) ? `(${where})` : where} AND ${more}` : more);

/** The names of the rows that references lead to, by their keys: of the first text column, as for links. */
async function titles(target, rows, running) {
    const title = target?.columns.find((column) => column.kind === "text" && !column.sealed);
    const key = target?.columns.filter((column) => column.key).map((column) => quoted(column.name));
    const keys = rows.map(([value]) => equals({ name: "" }, value ?? undefined)?.slice(5)).filter(Boolean);
    if (!title || key.length !== 1 || !keys.length) return new Map();
    const found = await api.query(`SELECT ${key}, ${quoted(title.name)} FROM ${quoted(target.name)} WHERE ${key} IN (${keys})`, running.id, running.stop.signal);
    return new Map(found.rows.map(([at, name]) => [at.text, name?.text]));
}

const named = (value, names, column) => (value && names.get(value.text) ? [...visible(names.get(value.text), 80), " ", h("span", { class: "key-of" }, value.text)] : cellContent(value, column));

/** Shows the most frequent values of a column; `choose` gets the condition of the one that is clicked. */
export async function showValues(table, column, where, choose, target) {
    const name = quoted(column.name);
    const place = h("div", { class: "loading" }, "Counting…");
    const box = dialog(`Values of ${column.name}`, place);
    const running = { id: crypto.randomUUID(), stop: new AbortController() };
    box.addEventListener("close", () => { api.cancel(running.id); running.stop.abort(); });
    const text = `SELECT ${name}, count(*) FROM ${quoted(table.name)}${where ? ` WHERE ${where}` : ""} GROUP BY ${name} ORDER BY count(*) DESC LIMIT ${SHOWN + 1}`;
    try {
        const { rows } = await api.query(text, running.id, running.stop.signal);
        const names = await titles(target, rows, running);
        if (!rows.length) return place.replaceChildren(state("There are no values", where ? "No row matches the condition." : "The table has no rows."));
        const items = rows.slice(0, SHOWN).map(([value, many]) => {
            const condition = equals(column, value && column.kind === "bool" ? { kind: "bool", text: String(value.text === "true" || value.text === "1") } : value);
            return h("li", {}, h("button", { type: "button", disabled: !condition, title: condition ?? "Its text cannot be a condition.",
                onclick: () => { box.close(); choose(condition); } }, h("span", { class: "cell" }, named(value, names, column)), h("span", { class: "number" }, count(Number(many.text)))));
        });
        const note = rows.length > SHOWN ? `The ${SHOWN} most frequent; there are more.` : `${plural(rows.length, "value")}.`;
        place.replaceWith(h("p", { class: "muted" }, ...visible(where ? `${note} Of rows where ${where}` : note, 300)), h("ul", { class: "plain facets" }, items));
        box.querySelector(".facets button:not(:disabled)")?.focus();
    } catch (error) {
        if (!error.cancelled) place.replaceWith(problem(error, text));
    }
    return undefined;
}
