// Links that save rows as a file, and say why they cannot: a browser says nothing of a download that fails.

import { api } from "./api.js";
import { h } from "./dom.js";

/** A link for each format; `address(format)` is its address, `failed` shows an error. */
export const exportLinks = (address, failed) => ["csv", "json"].map((format) => h("a", { class: "button quiet", download: "", href: address(format),
    onclick: (event) => { event.preventDefault(); save(address(format), `rows.${format}`, failed); } }, format.toUpperCase()));

async function save(address, name, failed) {
    try {
        const href = await api.download(address);
        h("a", { href, download: name }).click();
        setTimeout(() => URL.revokeObjectURL(href), 60000);
    } catch (error) {
        failed(error);
    }
}
