// The requests of the page. Every answer is JSON; an error has a message, and a position in the text it is about.

export class StudioError extends Error {
    constructor(message, more = {}) {
        super(message);
        Object.assign(this, more);
    }
}

/** The response of a request that has not failed. */
async function received(path, options = {}) {
    let response;
    try {
        response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
    } catch (error) {
        if (error.name === "AbortError") throw new StudioError("The query was cancelled.", { cancelled: true });
        throw new StudioError("Mako Studio does not answer.", { advice: "It may have been stopped: start mako studio again and open the link it prints." });
    }
    if (response.status === 401 || response.status === 403) {
        throw new StudioError("This page may not read the database.", { advice: "Open the link that mako studio printed: it holds this session's token." });
    }
    if (response.ok) return response;
    const body = await response.json().catch(() => undefined);
    throw new StudioError(body?.error?.message ?? `The server answered ${response.status}.`, body?.error);
}

const answer = async (path, options) => (await received(path, options)).json().catch(() => undefined);

/** An empty key is one: that of a row whose text key is empty. */
const query = (values) => new URLSearchParams(Object.entries(values).filter(([name, value]) => value !== undefined && value !== null && (value !== "" || name === "key")));
const get = (path, values = {}, options = {}) => answer(`api/${path}?${query(values)}`, options);
const post = (path, body, options) => answer(`api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body), ...options });

/** Adds to blob cells that hold a picture where its bytes are. */
function pictured(table, key, columns, cells) {
    cells.forEach((cell, index) => {
        if (cell?.kind === "blob" && /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(cell.media ?? "") && cell.size < 4_000_000) {
            cell.picture = api.blobAddress(table, key, columns[index].name);
        }
    });
    return cells;
}

function prepared(table, page) {
    for (const row of page.rows) pictured(table.name, row.key, table.columns, row.cells);
    return page;
}

const range = ({ after, before, at, limit }) => ({ after: after?.cursor, before: before?.cursor, at, limit });

export const api = {
    schema: () => get("schema"),
    remembered: () => get("remembered"),
    remember: (name, value) => post("remembered", { name, value }, { keepalive: true }),
    rows: async (table, { where, order, id, signal, ...wanted }) => prepared(table,
        await get("rows", { table: table.name, where, order, id, ...range(wanted) }, { signal })),
    row: async (table, key) => {
        const row = await get("row", { table: table.name, key });
        pictured(table.name, key, table.columns, row.cells);
        return row;
    },
    related: async (table, key, list, target, wanted) => prepared(target, await get("related", { table: table.name, key, list, ...range(wanted) })),
    blobAddress: (table, key, column) => `api/blob?${query({ table, key, column })}`,
    exportAddress: (table, where, order, format) => `api/export?${query({ table, where, order, format })}`,
    exportQuery: (text, format) => `api/export?${query({ query: text, format })}`,
    download: async (address) => URL.createObjectURL(await (await received(address)).blob()),
    query: (text, id, signal) => post("query", { text, id }, { signal }),
    cancel: (id) => answer(`api/query?${query({ id })}`, { method: "DELETE" }).catch(() => {}),
    explain: (text, run, table) => post("explain", { text, run, table }),
    commits: (before) => get("commits", { before, limit: 100 }),
    commit: (number) => get("commit", { number }),
    storage: () => get("storage"),
    pages: (from) => get("pages", { from }),
    pin: () => post("pin", {}),
    unpin: () => answer("api/pin", { method: "DELETE" }),
    preview: (change) => post("preview", change),
    save: (change) => post("save", change),
    undo: (save) => post("undo", { save }),
    find: (table, text) => get("find", { table, text }),
};

/** What other processes commit, as it happens. A hidden page gives its connection back: browsers allow six to one server. */
export const live = {
    onstate: () => {},
    onmissed: () => {},
    listen(listener) {
        this.listener = listener;
        document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
        if (!document.hidden) this.open();
    },
    open() {
        if (this.events) return;
        this.events = new EventSource(`api/live?${query({ since: this.since })}`);
        this.events.onopen = () => {
            this.onstate(true);
            if (this.opened) this.onmissed();
            this.opened = true;
        };
        this.events.onerror = () => this.onstate(false);
        this.events.onmessage = (event) => this.listener(JSON.parse(event.data));
    },
    close() {
        this.events?.close();
        this.events = undefined;
    },
};
