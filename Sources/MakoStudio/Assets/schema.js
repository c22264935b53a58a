// Tables and the references between them, as a diagram.

import { diagram } from "./draw.js";
import { h, plural, state } from "./dom.js";

export function schemaView({ schema, main }) {
    const references = schema.tables.reduce((sum, table) => sum + table.columns.filter((column) => column.target).length, 0);
    main.replaceChildren(
        h("div", { class: "top" }, h("h1", {}, "Schema"), h("span", { class: "muted" }, `${plural(schema.tables.length, "table")}, ${plural(references, "reference")}`)),
        schema.tables.length ? h("div", { class: "diagram-frame", tabindex: "0", role: "region", "aria-label": "Diagram" }, diagram(schema.tables))
            : state("This database has no tables yet", "They appear here as soon as a program saves its first object."));
    return undefined;
}
