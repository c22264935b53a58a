// Completion in a field: a list of words below it, chosen with arrows and taken with Tab or Enter.

import { h, visible } from "./dom.js";

let lists = 0;

/** Offers `words(text, caret)` -> { from, words: [{ text, kind }] } while the user writes into `field`. */
export function complete(field, words, options = {}) {
    const id = `words-${lists += 1}`;
    const list = h("ul", { class: "words", id, role: "listbox", "aria-label": "Completions", hidden: true });
    const attributes = { role: "combobox", "aria-autocomplete": "list", "aria-controls": id, "aria-expanded": "false", autocomplete: "off",
        autocapitalize: "off", spellcheck: "false" };
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value);
    const now = { offer: undefined, chosen: -1, turn: 0 };

    function hide() {
        list.hidden = true;
        now.offer = undefined;
        now.turn += 1;
        field.setAttribute("aria-expanded", "false");
        field.removeAttribute("aria-activedescendant");
    }

    function choose(index) {
        now.chosen = index;
        [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === index)));
        const item = list.children[index];
        if (item) { field.setAttribute("aria-activedescendant", item.id); item.scrollIntoView({ block: "nearest" }); }
        else field.removeAttribute("aria-activedescendant");
    }

    function take(index) {
        const word = now.offer?.words[index];
        if (!word) return;
        const end = field.selectionStart;
        const before = field.value.slice(0, now.offer.from);
        field.value = before + word.text + field.value.slice(end);
        const caret = before.length + word.text.length;
        field.setSelectionRange(caret, caret);
        hide();
        field.focus();
        options.changed?.();
    }

    async function offer(forced) {
        const turn = ++now.turn;
        const found = await words(field.value, field.selectionStart).catch(() => undefined);
        if (turn !== now.turn || document.activeElement !== field) return;
        const typed = found ? field.value.slice(found.from, field.selectionStart) : "";
        const fit = found?.words.filter((word) => word.text !== typed).slice(0, 40) ?? [];
        if (!fit.length || (!forced && !typed && field.value[field.selectionStart - 1] !== ".")) { hide(); return; }
        now.offer = { from: found.from, words: fit };
        list.replaceChildren(...fit.map((word, index) => h("li", { role: "option", id: `${id}-${index}`,
            onpointerdown: (event) => { event.preventDefault(); take(index); } },
        h("span", {}, ...visible(word.text, 80)), h("small", {}, word.kind ?? ""))));
        list.hidden = false;
        field.setAttribute("aria-expanded", "true");
        choose(forced ? 0 : -1);
    }

    field.addEventListener("input", () => offer(false));
    field.addEventListener("blur", hide);
    field.addEventListener("keydown", (event) => {
        if (event.key === " " && event.ctrlKey) { event.preventDefault(); offer(true); return; }
        if (list.hidden || event.ctrlKey || event.altKey) return;
        const many = list.children.length;
        if (event.key === "ArrowDown") choose((now.chosen + 1) % many);
        else if (event.key === "ArrowUp") choose((now.chosen + many - (now.chosen < 0 ? 0 : 1)) % many);
        else if (event.key === "Tab" && !event.shiftKey) take(Math.max(0, now.chosen));
        else if (event.key === "Enter" && now.chosen >= 0) take(now.chosen);
        else if (event.key === "Escape") hide();
        else return;
        event.preventDefault();
        event.stopImmediatePropagation();
    });
    return h("div", { class: "completing" }, field, list);
}

const WORDS = ["AND", "OR", "NOT", "IN", "IS NULL", "IS NOT NULL", "BETWEEN", "LIKE", "GLOB", "MATCH", "EXISTS", "ANY", "ALL", "NONE",
    "TRUE", "FALSE", "NULL", "COLLATE NOCASE", "CASE WHEN", "CURRENT_DATE", "CURRENT_TIMESTAMP"];
const STATEMENT = ["SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "JOIN", "LEFT JOIN", "ON", "AS",
    "DISTINCT", "ASC", "DESC", "count(*)", "sum(", "avg(", "min(", "max("];

/** The words that fit at the caret of a condition on `table`, from the schema alone. */
export function schemaWords(schema, table, statement) {
    return async (text, caret) => {
        const before = text.slice(0, caret);
        if ((before.match(/'/g)?.length ?? 0) % 2 === 1) return undefined;
        const path = /(?:[\p{L}_][\p{L}\d_$]*\.)*[\p{L}_]?[\p{L}\d_$]*$/u.exec(before)[0];
        const steps = path.split(".");
        const typed = steps.pop();
        const names = steps.length ? columnsAt(schema, table, steps) : outermost(schema, table, statement, before);
        const wanted = typed.toLowerCase();
        const fit = names.filter((word) => word.text.toLowerCase().startsWith(wanted));
        return { from: caret - typed.length, words: fit };
    };
}

function outermost(schema, table, statement, before) {
    const named = table ? [table] : schema.tables.filter((one) => before.toLowerCase().includes(one.name.toLowerCase()));
    const words = named.flatMap((one) => columnWords(one));
    if (statement) words.push(...schema.tables.map((one) => ({ text: quoted(one.name), kind: "table" })),
        ...STATEMENT.map((text) => ({ text, kind: "word" })));
    return words.concat(WORDS.map((text) => ({ text, kind: "word" })));
}

const columnWords = (table) => table.columns.map((column) => ({ text: quoted(column.name), kind: column.target ?? column.detail }))
    .concat((table.lists ?? []).map((list) => ({ text: quoted(list.name), kind: `list of ${list.table}` })));

function columnsAt(schema, table, steps) {
    let at = table ?? schema.tables.find((one) => one.name.toLowerCase() === steps[0].toLowerCase());
    for (const step of table ? steps : steps.slice(1)) {
        const next = at?.columns.find((column) => column.name === step)?.target ?? at?.lists?.find((list) => list.name === step)?.table;
        at = schema.tables.find((one) => one.name === next);
    }
    return at ? columnWords(at) : [];
}

/** Words that mean something else than a name in a condition or an order; SchemaText.swift has those of statements. */
const KEYWORDS = new Set(`all and any as asc between by case check collate constraint cross current_date current_time current_timestamp desc distinct else end
    escape except exists false foreign from glob group having if in inner intersect is isnull join left like limit match none not notnull null offset on or
    order primary references regexp select set then true union unique using values when where with`.split(/\s+/));

/** A name as the language reads it: in double quotes where it is not a plain word. */
export const quoted = (name) => (/^[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*$/.test(name) && !KEYWORDS.has(name.toLowerCase()) ? name : `"${name.replaceAll('"', '""')}"`);
