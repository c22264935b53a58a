// A plan as a tree: what each operator did, with counts and times, and the indexes that would help.

import { count, duration, h, plural, visible } from "./dom.js";

export function planTree({ plan, advice }) {
    return [
        ...(advice ?? []).map((one) => h("div", { class: "advice" }, h("b", {}, "An index would help: "), h("code", {}, ...visible(one, 400)))),
        h("div", { class: "plan" }, h("ul", { "aria-label": "Plan" }, operator(plan))),
    ];
}

const known = (value) => value !== undefined && value !== null;

function operator(node) {
    const facts = [
        known(node.rows) ? plural(node.rows, "row") : null,
        node.examined > node.rows ? `of ${count(node.examined)} examined` : null,
        known(node.estimate) ? `estimated ${count(node.estimate)}` : null,
        known(node.milliseconds) ? duration(node.milliseconds) : null,
    ].filter(Boolean).join(" · ");
    // Many texts begin with the name of their operator.
    const detail = (node.detail ?? "").startsWith(`${node.name} `) ? node.detail.slice(node.name.length + 1) : node.detail ?? "";
    return h("li", {}, h("b", {}, ...visible(node.name, 200)), " ", h("span", {}, ...visible(detail, 400)), h("span", { class: "facts" }, facts),
        node.children?.length ? h("ul", {}, node.children.map(operator)) : null);
}
