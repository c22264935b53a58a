// Values as they are seen: null apart from '', dates, blobs by size and picture, links by the name of their row.

import { bytes, count, h, visible } from "./dom.js";

const LONGEST = 300;

/** The text of a value, to copy it or to write it into a field. */
export function cellText(cell) {
    if (cell === null || cell === undefined) return "";
    return cell.text ?? "";
}

const shows = {
    bool: (cell) => h("span", { class: cell.text === "true" ? "yes" : "no" }, cell.text),
    blob: (cell) => [cell.picture ? h("img", { class: "thumb", src: cell.picture, alt: "", loading: "lazy" }) : null,
        h("span", { class: "size" }, cell.encrypted ? "encrypted, " : cell.media ? `${cell.media}, ` : "bytes, ", bytes(cell.size))],
    color: (cell) => [swatch(cell.text), ...visible(cell.text, LONGEST)],
    place: (cell) => h("span", { class: "mono" }, ...visible(cell.text, LONGEST)),
    json: (cell) => h("code", {}, ...visible(cell.text, LONGEST)),
    uuid: (cell) => h("span", { class: "mono" }, ...visible(cell.text, LONGEST)),
    link: (cell) => link(cell),
};

/** What a cell of a grid holds. */
export function cellContent(cell, column) {
    if (cell === undefined) return "";
    if (cell === null) return h("span", { class: "null" }, "null");
    if (cell.kind === "text" && cell.text === "") return h("span", { class: "null" }, "''");
    const show = shows[cell.kind];
    if (show) return show(cell, column);
    const value = h("span", { class: "value", dir: cell.kind === "text" ? "auto" : null }, ...visible(cell.text, LONGEST));
    if (cell.cut && cell.text.length <= LONGEST) value.append("…");
    return value;
}

/** What a value looks like where it has room: whole texts, pictures, indented JSON. */
export function wholeContent(cell, column, href) {
    if (cell === null || cell === undefined) return h("span", { class: "null" }, "null");
    if (cell.kind === "text" && cell.text !== "") {
        return [h("span", { class: "value", dir: "auto" }, ...visible(cell.text, Infinity, false)),
            cell.cut ? h("span", { class: "muted" }, ` … ${count(cell.length)} characters in all`) : null];
    }
    if (cell.kind === "json" && !cell.cut) return h("pre", {}, ...visible(indented(cell.text), Infinity, false));
    if (cell.kind === "blob") {
        return [h("span", { class: "size" }, `${cell.media ? `${cell.media}, ` : ""}${bytes(cell.size)} `),
            href && !cell.encrypted ? h("a", { href, download: "" }, "Save") : null,
            cell.picture ? h("img", { class: "picture", src: cell.picture, alt: `Picture in ${column.name}` }) : null];
    }
    return cellContent(cell, column);
}

/** Indents by tokens, which all stay as they are stored: numbers beyond doubles, digits such as 1.10, repeated members. */
function indented(text) {
    try { JSON.parse(text); } catch { return text; }
    let [depth, shown] = [0, ""];
    const line = (step) => { depth += step; return `\n${"  ".repeat(depth)}`; };
    for (const [token] of text.matchAll(/\[\s*\]|\{\s*\}|"(?:[^"\\]+|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g)) {
        if (token === "]" || token === "}") shown += line(-1) + token;
        else if (token === "[" || token === "{") shown += token + line(1);
        else shown += token === "," ? token + line(0) : token === ":" ? ": " : token.startsWith('"') ? token : token.replace(/\s+/, "");
    }
    return shown;
}

function swatch(text) {
    const box = h("span", { class: "swatch", "aria-hidden": "true" });
    box.style.backgroundColor = /^#[0-9a-f]{3,8}$/i.test(text) ? text : "transparent";
    return box;
}

export const rowAddress = (table, key) => `#/table/${encodeURIComponent(table)}/${encodeURIComponent(key)}`;

export function link(cell) {
    const key = visible(cell.key, 60);
    return h("a", { href: rowAddress(cell.table, cell.key), tabindex: "-1" },
        cell.name === undefined || cell.name === null || cell.name === "" ? [visible(cell.table, 40), " ", key]
            : [h("span", { class: "value", dir: "auto" }, ...visible(cell.name, 80)), " ", h("span", { class: "key-of" }, key)]);
}
