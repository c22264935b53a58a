// A grid over rows that are read by key: it holds a window of them, and draws those in sight.
//
// source: { columns: [{ name, kind, detail, numeric, sorted }], total, exact, jumps,
//           page({ after, before, at, limit }) -> { rows: [{ key, cells }], start, end } }
// after/before are rows of the window; `at` is a share of the table (0...1), where the source can jump.

import { count, flash, flat, h, problem, remembered, state, visible } from "./dom.js";
import { cellContent, cellText } from "./cell.js";

const ROW = 30;
const PAGE = 100;
const HELD = 1200;
/** Browsers cap the height of an element at 17 to 33 million pixels. */
const TALLEST = 15_000_000;

export class Grid {
    constructor(source, options) {
        this.source = source;
        this.options = options;
        this.columns = source.columns;
        this.rows = [];
        this.first = 0;
        this.atStart = false;
        this.atEnd = false;
        this.total = source.total ?? 0;
        this.shift = 0;
        this.lastTop = 0;
        this.focus = { row: 0, column: 0 };
        this.drawn = new Map();
        this.loading = null;
        this.generation = 0;
        this.build();
    }

    build() {
        this.widths = this.columns.map((column) => this.savedWidth(column) ?? startWidth(column));
        this.head = h("div", { class: "head", role: "row", "aria-rowindex": 1 },
            this.columns.map((column, index) => this.headCell(column, index)));
        this.space = h("div", { class: "space", role: "rowgroup" });
        this.note = h("div", { class: "grid-note", role: "status" });
        this.body = h("div", {
            class: "grid", role: "grid", tabindex: "0", "aria-label": this.options.label, "aria-colcount": this.columns.length,
            "aria-rowcount": -1, "aria-readonly": this.options.editable ? "false" : "true",
        }, h("div", { role: "rowgroup", class: "head-group" }, this.head), this.space);
        this.element = h("div", { class: "grid-frame" }, this.body, this.note);
        this.body.addEventListener("scroll", () => this.scrolled(), { passive: true });
        this.body.addEventListener("keydown", (event) => this.pressed(event));
        this.space.addEventListener("click", (event) => this.clicked(event));
        this.space.addEventListener("dblclick", (event) => this.opened(event));
        this.observer = new ResizeObserver(() => this.draw());
        this.observer.observe(this.body);
        this.placeColumns();
    }

    close() {
        this.closed = true;
        this.observer.disconnect();
    }

    // MARK: Columns

    widthsName() { return `widths.${this.options.name}`; }

    savedWidth(column) {
        const saved = this.options.name ? remembered.read(this.widthsName(), {}) : {};
        return Object.hasOwn(saved, column.name) ? Number(saved[column.name]) || undefined : undefined;
    }

    headCell(column, index) {
        const direction = column.sorted === "asc" ? "ascending" : column.sorted === "desc" ? "descending" : "none";
        const label = h("span", { class: "label" }, ...visible(column.name, 120));
        const arrow = h("span", { class: "arrow", "aria-hidden": "true" },
            column.sorted === "asc" ? "↑" : column.sorted === "desc" ? "↓" : "");
        const sort = this.options.sort;
        const words = [label, arrow, h("span", { class: "kind" }, column.detail ?? "")];
        const cell = h("div", { class: `cell${column.numeric ? " number" : ""}`, role: "columnheader", "aria-colindex": index + 1,
            "aria-sort": sort ? direction : null, title: flat(`${column.name} · ${column.detail ?? ""}`) },
        sort ? h("button", { type: "button", tabindex: "-1", onclick: () => sort(column) }, words) : words,
        this.options.values ? h("button", { type: "button", class: "values", tabindex: "-1", title: `Values of ${column.name}`, "aria-label": `Values of ${column.name}`,
            onclick: () => this.options.values(column) }, "▾") : null,
        h("span", { class: "grip", "aria-hidden": "true", onpointerdown: (event) => this.resize(event, index) }));
        return cell;
    }

    resize(event, index) {
        event.preventDefault();
        const from = event.clientX;
        const width = this.widths[index];
        const grip = event.target;
        grip.setPointerCapture(event.pointerId);
        const move = (moved) => this.setWidth(index, width + moved.clientX - from);
        grip.addEventListener("pointermove", move);
        grip.addEventListener("pointerup", () => { grip.removeEventListener("pointermove", move); this.keepWidths(); }, { once: true });
    }

    setWidth(index, width) {
        this.widths[index] = Math.min(900, Math.max(48, Math.round(width)));
        this.placeColumns();
    }

    keepWidths() {
        if (!this.options.name) return;
        remembered.write(this.widthsName(), Object.fromEntries(this.columns.map((column, index) => [column.name, this.widths[index]])));
    }

    placeColumns() {
        const all = this.widths.reduce((sum, width) => sum + width, 0);
        this.body.style.setProperty("--columns", this.widths.map((width) => `${width}px`).join(" ") + " minmax(0, 1fr)");
        this.body.style.setProperty("--wide", `${all}px`);
    }

    // MARK: Rows

    /** Reads the first rows, or those around a share of the table. */
    async start(at, index) {
        const generation = ++this.generation;
        this.loading = "start";
        this.body.setAttribute("aria-busy", "true");
        const slow = setTimeout(() => { if (generation === this.generation) this.note.replaceChildren(...this.options.slow?.() ?? []); }, 700);
        try {
            const page = await this.source.page({ at, limit: PAGE });
            if (generation !== this.generation || this.closed) return;
            this.rows = page.rows;
            this.atStart = page.start;
            this.atEnd = page.end;
            this.total = Math.max(this.source.total ?? 0, this.rows.length);
            this.first = page.start ? 0 : page.end ? this.total - this.rows.length : index ?? 0;
            this.settle();
            this.note.replaceChildren(...(this.rows.length === 0 && this.options.empty ? [this.options.empty()] : []));
            this.options.loaded?.(this);
        } catch (error) {
            if (generation !== this.generation || this.closed) return;
            this.rows = [];
            this.total = 0;
            this.atStart = this.atEnd = true;
            this.failed(error);
        } finally {
            clearTimeout(slow);
            if (generation === this.generation) { this.loading = null; this.body.removeAttribute("aria-busy"); }
        }
        this.draw(true);
    }

    failed(error) {
        this.options.failed?.(error);
        this.note.replaceChildren(error.cancelled ? state("Cancelled", "No rows were read.", h("button", { type: "button", onclick: () => this.start() }, "Read them"))
            : this.options.failed ? state("No rows to show", "Correct the condition above, or clear it.") : problem(error));
    }

    /** Reads the rows again where the grid is, keeping the place; returns the keys that differ. */
    async refresh(changed) {
        while (this.loading && !this.closed) await new Promise((done) => { setTimeout(done, 30); });
        if (this.closed) return;
        const generation = this.generation;
        this.loading = "refresh";
        try {
            const seen = this.seen();
            const from = Math.min(seen.from - this.first - 20, this.rows.length - 1);
            const after = from < 0 && this.atStart ? undefined : this.rows[Math.max(0, from)];
            const page = await this.source.page({ after, limit: Math.max(PAGE, seen.to - seen.from + 40) });
            if (generation !== this.generation || this.closed) return;
            this.flash(changed, page.rows, this.rows);
            // Rows outside of what was read may have changed too: scrolling there reads them again.
            this.first = after ? this.first + Math.max(0, from) + 1 : 0;
            this.rows = page.rows;
            this.atStart = after ? false : page.start;
            this.atEnd = page.end;
            this.total = Math.max(this.source.total ?? 0, this.first + this.rows.length);
            this.settle();
            this.note.replaceChildren(...(this.rows.length === 0 && this.options.empty ? [this.options.empty()] : []));
        } catch (error) {
            if (generation === this.generation) this.options.failed?.(error);
        }
        if (generation !== this.generation || this.closed) return;
        this.loading = null;
        this.draw(true);
    }

    flash(changed, rows, before) {
        const was = new Map(before.map((row) => [row.key, row]));
        const keys = changed && new Set(changed.map(String));
        for (const row of rows) {
            const old = was.get(row.key);
            row.flash = new Set();
            row.cells.forEach((cell, index) => {
                if (old ? JSON.stringify(cell) !== JSON.stringify(old.cells[index]) : keys?.has(String(row.key))) row.flash.add(index);
            });
        }
    }

    /** Makes positions agree with what is known of start and end. */
    settle() {
        const top = this.virtualTop();
        let moved = 0;
        if (this.atStart && this.first !== 0) { moved = -this.first; this.first = 0; }
        const end = this.first + this.rows.length;
        if (this.atEnd) this.total = end;
        else if (end >= this.total) this.total = end + PAGE;
        if (!this.atStart && this.first < 1) { moved += PAGE - this.first; this.first = PAGE; this.total += PAGE; }
        const height = this.height();
        this.space.style.height = `${Math.min(height, TALLEST)}px`;
        this.body.setAttribute("aria-rowcount", this.source.exact || this.atEnd ? this.total + 1 : -1);
        if (moved) this.moveTo(top + moved * ROW);
        this.options.positioned?.(this);
    }

    height() { return this.total * ROW; }
    virtualTop() { return Math.max(0, this.body.scrollTop - this.shift); }

    moveTo(virtualTop) {
        const tall = this.height();
        const view = this.viewHeight();
        const most = Math.max(0, tall - view);
        const top = Math.min(most, Math.max(0, virtualTop));
        const real = tall <= TALLEST ? top : most === 0 ? 0 : top / most * (TALLEST - view);
        this.shift = tall <= TALLEST ? 0 : Math.round(real) - top;
        this.lastTop = Math.round(real);
        this.body.scrollTop = this.lastTop;
        this.draw(true);
    }

    viewHeight() { return Math.max(ROW, this.body.clientHeight - this.head.offsetHeight); }

    scrolled() {
        const top = this.body.scrollTop;
        const moved = top - this.lastTop;
        this.lastTop = top;
        if (this.height() > TALLEST) {
            const view = this.viewHeight();
            const most = TALLEST - view;
            if (top <= 0 || top >= most - 1 || Math.abs(moved) > view * 4) {
                const virtual = Math.min(1, top / most) * (this.height() - view);
                this.shift = top - virtual;
            }
        } else this.shift = 0;
        if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
    }

    seen() {
        const from = Math.max(0, Math.floor(this.virtualTop() / ROW));
        return { from, to: Math.min(this.total, from + Math.ceil(this.viewHeight() / ROW) + 1) };
    }

    draw(again) {
        if (this.closed || !this.body.isConnected) return;
        const { from, to } = this.seen();
        const low = Math.max(0, from - 6);
        const high = Math.min(this.total, to + 6);
        for (const [index, element] of this.drawn) {
            // Lines that are the same stay as they are: reading again beside a writer draws what changed alone.
            const same = !again || (element.content && element.content === content(this.rows[index - this.first]));
            if (!same || index < low || index >= high) { element.remove(); this.drawn.delete(index); }
        }
        const held = document.activeElement === this.body;
        for (let index = low; index < high; index += 1) {
            const row = this.rows[index - this.first];
            let element = this.drawn.get(index);
            if (element && element.waiting && row) { element.remove(); element = undefined; }
            if (!element) {
                element = row ? this.rowElement(row, index) : this.waitingElement(index);
                this.drawn.set(index, element);
                this.space.append(element);
            }
            element.style.transform = `translateY(${index * ROW + this.shift}px)`;
        }
        this.mark(held);
        this.need(from, to);
    }

    rowElement(row, index) {
        const cells = this.columns.map((column, place) => {
            const cell = h("div", { class: `cell${column.numeric ? " number" : ""}`, role: "gridcell", id: this.cellId(index, place),
                "aria-colindex": place + 1 }, cellContent(row.cells[place], column, this.options));
            if (row.flash?.has(place)) flash(cell);
            if (row.was && Object.hasOwn(row.was, column.name)) differing(cell, row.was[column.name], column);
            return cell;
        });
        const element = h("div", { class: "line", role: "row", "aria-rowindex": index + 2, "data-index": index }, cells);
        if (row.change === "insert") { element.classList.add("inserted"); element.title = "Not in the pinned commit"; }
        if (row.change === "delete") { element.classList.add("gone"); element.title = "Deleted since the pinned commit"; cells[0]?.prepend(h("span", { class: "out" }, "deleted ")); }
        row.flash = undefined;
        element.content = content(row);
        if (row.key !== undefined) element.dataset.key = typeof row.key === "string" ? row.key : JSON.stringify(row.key);
        return element;
    }

    waitingElement(index) {
        const element = h("div", { class: "line waiting", role: "row", "aria-rowindex": index + 2, "data-index": index },
            this.columns.map(() => h("div", { class: "cell", role: "gridcell" }, h("i", {}))));
        element.waiting = true;
        return element;
    }

    cellId(row, column) { return `cell-${this.options.id ?? "grid"}-${row}-${column}`; }

    // MARK: Reading on

    need(from, to) {
        if (this.loading || this.closed || performance.now() < (this.pause ?? 0)) return;
        const end = this.first + this.rows.length;
        const far = to < this.first - PAGE * 3 || from > end + PAGE * 3;
        if (this.rows.length && far && this.source.jumps) {
            this.jump(from);
        } else if (!this.atEnd && this.rows.length && to + PAGE / 2 > end) {
            this.extend("after");
        } else if (!this.atStart && this.rows.length && from - PAGE / 2 < this.first) {
            this.extend("before");
        }
    }

    async jump(index) {
        this.loading = "jump";
        const share = index / Math.max(1, this.total - this.viewHeight() / ROW);
        if (share <= 0) this.moveTo(0);
        await this.start(share <= 0 ? undefined : Math.min(1, share), index);
        // The scroll bar may have moved on while the rows came: the next draw reads those.
        if (share >= 1) this.moveTo(this.height());
        else this.draw();
    }

    async extend(side) {
        const generation = this.generation;
        this.loading = side;
        try {
            const edge = side === "after" ? this.rows[this.rows.length - 1] : this.rows[0];
            const page = await this.source.page({ [side]: edge, limit: PAGE });
            if (generation !== this.generation || this.closed) return;
            if (side === "after") this.append(page);
            else this.prepend(page);
        } catch (error) {
            if (generation !== this.generation) return;
            // The rows that are there stay; scrolling tries again, though not at once.
            this.pause = performance.now() + 3000;
            this.options.failed?.(error);
        }
        // Drawing may read on, so nothing here comes after it.
        this.settle();
        this.loading = null;
        this.draw(side === "before");
    }

    append(page) {
        this.rows = this.rows.concat(page.rows);
        this.atEnd = page.end;
        const over = this.rows.length - HELD;
        if (over > 0) { this.rows = this.rows.slice(over); this.first += over; this.atStart = false; }
    }

    prepend(page) {
        this.rows = page.rows.concat(this.rows);
        this.first -= page.rows.length;
        this.atStart = page.start;
        if (this.rows.length > HELD) { this.rows = this.rows.slice(0, HELD); this.atEnd = false; }
    }

    // MARK: Keyboard and pointer

    pressed(event) {
        if (event.target !== this.body || event.altKey) return;
        const step = Math.max(1, Math.floor(this.viewHeight() / ROW) - 1);
        const far = event.ctrlKey || event.metaKey;
        const { row, column } = this.focus;
        const last = this.columns.length - 1;
        const moves = {
            ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1],
            PageDown: [row + step, column], PageUp: [row - step, column], Home: [far ? 0 : row, 0], End: [far ? this.total - 1 : row, last],
        };
        if (event.shiftKey && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
            this.setWidth(column, this.widths[column] + (event.key === "ArrowRight" ? 16 : -16));
            this.keepWidths();
        } else if (event.key === "Home" && far && this.source.jumps && !this.atStart) this.jump(0).then(() => this.go(0, 0));
        else if (event.key === "End" && far && this.source.jumps && !this.atEnd) this.jump(this.total).then(() => this.go(this.total - 1, last));
        else if (moves[event.key] && !(far && !["Home", "End"].includes(event.key))) this.go(...moves[event.key]);
        else if (!far && event.key === "Enter") this.options.open?.(this.current(), this.columns[column]);
        else if (!far && event.key === "F2") this.options.edit?.(this.current(), this.columns[column]);
        else if (!far && event.key === "s" && this.options.sort) this.options.sort(this.columns[column]);
        else if (!far && event.key === "v" && this.options.values) this.options.values(this.columns[column]);
        else if (!far && event.key === "=" && this.options.pick) this.options.pick(this.columns[column], this.current()?.cells[column]);
        else if (far && event.key === "c" && !String(getSelection())) this.copy();
        else return;
        event.preventDefault();
    }

    current() { return this.rows[this.focus.row - this.first]; }

    copy() {
        const cell = this.current()?.cells[this.focus.column];
        if (cell !== undefined) navigator.clipboard?.writeText(cellText(cell)).catch(() => {});
    }

    go(row, column) {
        this.focus = { row: Math.min(this.total - 1, Math.max(0, row)), column: Math.min(this.columns.length - 1, Math.max(0, column)) };
        const top = this.focus.row * ROW;
        const view = this.viewHeight();
        if (top < this.virtualTop()) this.moveTo(top);
        else if (top + ROW > this.virtualTop() + view) this.moveTo(top + ROW - view);
        const left = this.widths.slice(0, this.focus.column).reduce((sum, width) => sum + width, 0);
        if (left < this.body.scrollLeft) this.body.scrollLeft = left;
        const right = left + this.widths[this.focus.column];
        if (right > this.body.scrollLeft + this.body.clientWidth) this.body.scrollLeft = right - this.body.clientWidth;
        this.mark();
    }

    mark() {
        this.space.querySelector(".at")?.classList.remove("at");
        this.space.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
        const line = this.drawn.get(this.focus.row);
        const cell = line?.children[this.focus.column];
        if (!cell || line.waiting) { this.body.removeAttribute("aria-activedescendant"); return; }
        cell.classList.add("at");
        line.setAttribute("aria-selected", "true");
        this.body.setAttribute("aria-activedescendant", cell.id);
    }

    place(event) {
        const line = event.target.closest(".line");
        const cell = event.target.closest(".cell");
        if (!line || !cell || line.waiting) return undefined;
        this.focus = { row: Number(line.dataset.index), column: [...line.children].indexOf(cell) };
        this.mark();
        return this.current();
    }

    clicked(event) {
        if (event.target.closest("a")) return;
        if (this.place(event)) this.body.focus({ preventScroll: true });
    }

    opened(event) {
        const row = this.place(event);
        if (!row || event.target.closest("a")) return;
        getSelection().removeAllRanges();
        if (this.options.edit) this.options.edit(row, this.columns[this.focus.column]);
        else this.options.open?.(row, this.columns[this.focus.column]);
    }

    /** `1–40 of 1,000,000`, for the line above the grid. */
    position() {
        if (!this.rows.length) return "No rows";
        const gone = this.rows.filter((row) => row.change === "delete").length;
        const end = this.source.exact ? this.source.total : this.total - gone;
        const about = this.source.exact || this.atEnd ? "" : "about ";
        const many = this.source.total === undefined && !this.atEnd ? `more than ${count(this.first + this.rows.length)}`
            : `${about}${count(this.atEnd ? end : Math.max(this.source.total ?? 0, this.first + this.rows.length))}`;
        return `${many} row${many === "1" ? "" : "s"}${gone ? `, and ${this.atStart && this.atEnd ? "" : "here "}${count(gone)} deleted` : ""}`;
    }
}

const content = (row) => row && (row.flash?.size ? "changed" : JSON.stringify([row.key, row.cells, row.was, row.change]));

function startWidth(column) {
    const widths = { bool: 84, int: 104, real: 116, date: 190, blob: 180, uuid: 300, json: 240, link: 170, place: 190, color: 120 };
    return Math.max(widths[column.kind] ?? 200, Math.min(260, column.name.length * 8 + (column.detail?.length ?? 0) * 6 + 36));
}

/** Marks a cell that differs from the pinned commit, whose value comes first. */
function differing(cell, was, column) {
    cell.classList.add("differs");
    cell.prepend(h("span", { class: "was" }, h("span", { class: "out" }, "was "), cellContent(was, column)), " ");
}
