// Elements, texts and numbers. A value reaches the page only as a text node: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") element[name] = value;
        else element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
    return element;
}

/** An element with attributes, listeners (`onclick`) and children; strings become text nodes. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Lights an element that changed. Without an animation, which would draw sixty times a second beside a program that writes at full speed. */
export function flash(element) {
    element.classList.add("flash");
    clearTimeout(element.flashing);
    element.flashing = setTimeout(() => element.classList.remove("flash"), 1200);
}

export const byId = (id) => document.getElementById(id);

const CONTROLS = "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");
const NAMES = {
    0x00ad: "SHY", 0x061c: "ALM", 0x200b: "ZWSP", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LSEP", 0x2029: "PSEP", 0x202a: "LRE",
    0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

function mark(character) {
    const code = character.codePointAt(0);
    const name = NAMES[code] ?? CONTROLS[code] ?? (code === 0x7f ? "DEL" : hex(code));
    return h("span", { class: "unseen", title: `U+${hex(code)}` }, name);
}

const hex = (code) => code.toString(16).toUpperCase().padStart(4, "0");

/** The nodes of a text: control and direction characters appear as marks and have no effect. */
export function visible(text, limit = Infinity, inLine = true) {
    let shown = String(text);
    const cut = shown.length > limit;
    if (cut) shown = shown.slice(0, limit);
    const nodes = [];
    let plain = "";
    const flush = () => { if (plain) nodes.push(plain); plain = ""; };
    if (!UNSEEN.test(shown) && !(inLine && /[\n\t]/.test(shown))) nodes.push(shown);
    else {
        for (const character of shown) {
            if (inLine && character === "\n") { flush(); nodes.push(h("span", { class: "unseen", title: "line break" }, "LF")); }
            else if (UNSEEN.test(character)) { flush(); nodes.push(mark(character)); }
            else plain += character;
        }
        flush();
    }
    if (cut) nodes.push("…");
    return nodes;
}

const ALL_UNSEEN = new RegExp(UNSEEN.source, "g");
/** A text for a drawing, where marks have no room: such characters become U+FFFD. */
export const flat = (text) => String(text).replace(ALL_UNSEEN, "\ufffd").replace(/\s+/g, " ");

const whole = new Intl.NumberFormat("en");
/** A number with its thousands apart. */
export const count = (number) => (number === undefined || number === null ? "" : whole.format(number));

/** `1 row`, `2 rows`. */
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
export function bytes(number) {
    if (number === undefined || number === null) return "";
    let unit = 0;
    let value = Number(number);
    while (value >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit += 1; }
    return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** Milliseconds as they are read: `0.4 ms`, `12 ms`, `1.3 s`. */
export function duration(milliseconds) {
    if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(1)} s`;
    return milliseconds >= 10 ? `${Math.round(milliseconds)} ms` : `${Number(milliseconds).toFixed(milliseconds < 1 ? 2 : 1)} ms`;
}

/** What an empty or failed view shows: what is so, and what to do. */
export function state(title, advice, ...actions) {
    return h("div", { class: "state" }, h("h2", {}, title), advice ? h("p", { class: "muted" }, advice) : null,
        actions.length ? h("div", { class: "actions" }, actions) : null);
}

/** The message of an error, with the text it is about and a caret below the place. */
export function problem(error, text) {
    const box = h("div", { class: "problem", role: "alert" }, h("p", {}, ...visible(error.message ?? String(error), 2000, false)));
    if (error.position !== undefined && error.position !== null && text) box.append(caret(text, error.position));
    if (error.advice) box.append(h("p", { class: "muted" }, ...visible(error.advice, 500)));
    return box;
}

function caret(text, position) {
    const start = text.lastIndexOf("\n", position - 1) + 1;
    const end = text.indexOf("\n", position);
    const line = text.slice(start, end < 0 ? text.length : end);
    return h("pre", { class: "caret" }, ...visible(line, 4000, false), "\n", " ".repeat(Math.max(0, position - start)), h("b", {}, "^"));
}

export function toast(text, action) {
    const box = h("div", { class: "toast" }, h("span", {}, ...visible(text, 300)));
    const close = () => box.remove();
    if (action) box.append(h("button", { type: "button", onclick: () => { close(); action.run(); } }, action.name));
    byId("toasts").append(box);
    setTimeout(close, action ? 20000 : 5000);
}

/** A dialog that gives the focus back to where it was, unless it is somewhere else by then: the event comes after the closing. */
export function dialog(title, body, ...buttons) {
    const before = document.activeElement;
    const box = h("dialog", { "aria-label": title }, h("h1", { tabindex: "-1", autofocus: true }, ...visible(title, 120)), body,
        h("footer", {}, buttons, h("button", { type: "button", onclick: () => box.close() }, buttons.length ? "Cancel" : "Close")));
    box.addEventListener("close", () => {
        const isElsewhere = document.activeElement !== document.body && !box.contains(document.activeElement);
        box.remove();
        if (!isElsewhere) before?.focus?.();
    });
    document.body.append(box);
    box.showModal();
    return box;
}

/** What is remembered while the page is open, as JSON; mako studio keeps it for the next start. The storage of the browser, which all databases share
    and which is not encrypted, has the theme alone. */
export const remembered = {
    keep: undefined,
    values: new Map(),
    read(name, otherwise) {
        try { return JSON.parse(this.values.get(name) ?? (name === "theme" ? localStorage.getItem("mako.theme") : null)) ?? otherwise; } catch { return otherwise; }
    },
    write(name, value) {
        const text = JSON.stringify(value);
        if (JSON.stringify(this.read(name)) === text) return;
        this.values.set(name, text);
        try { if (name === "theme") localStorage.setItem("mako.theme", text); } catch { /* The page works without. */ }
        this.keep?.(name, value);
    },
};
