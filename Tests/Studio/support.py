"""What the tests of the page share: one browser, the double of the server, and checks that hold for every view."""

import json
import os
import time
import unittest

import chromium
import mock
import real

PICTURES = os.environ.get("MAKO_STUDIO_PICTURES")
PROGRAM = os.environ.get("MAKO_STUDIO_PROGRAM")

VIEWS = {
    "tables": ("#/", "table.sheet tbody tr"),
    "grid": ("#/table/Person", ".line:not(.waiting)"),
    "row": ("#/table/Person/5", "dl.properties dt"),
    "query": ("#/query", "#run"),
    "live": ("#/live", ".tiles a"),
    "time": ("#/time", ".commits button"),
    "storage": ("#/storage", "svg.treemap rect"),
    "schema": ("#/schema", "svg.diagram .box"),
}


READY = "document.documentElement.dataset.ready === 'true' && location.protocol === 'http:'"


class Shared:
    """The browser and the server of a run, the double or `mako studio`; started by the first test that needs them."""

    browser = double = servers = None
    address = ""

    @classmethod
    def start(cls):
        if cls.browser is None:
            program = chromium.find_chromium()
            if program is None:
                raise unittest.SkipTest("no Chromium here: apt-get install chromium, or set CHROMIUM")
            if PROGRAM:
                cls.servers = real.Servers(PROGRAM)
            else:
                cls.address, cls.double = mock.serve()
            cls.browser = chromium.Chromium(program)

    @classmethod
    def server(cls, writes):
        """Address and database of the server for a test."""
        if cls.double:
            return cls.address, cls.double.database
        server = cls.servers.server(writes)
        server.enter(cls.browser)
        return server.address, server

    @classmethod
    def stop(cls):
        if cls.browser:
            cls.browser.close()
            if cls.double:
                cls.double.shutdown()
            else:
                cls.servers.stop()
            cls.browser = None


def needs_double(reason):
    """For tests of what the double alone does or holds."""
    return unittest.skipIf(PROGRAM, f"on the double alone: {reason}")


class PageCase(unittest.TestCase):
    """A test with a fresh page: wide, light, with nothing remembered."""

    width, height, theme = 1280, 800, "light"
    #: Whether the server of the program is one with --write; the double always writes.
    writes = False

    def setUp(self):
        Shared.start()
        self.page = Shared.browser
        self.address, self.database = Shared.server(self.writes)
        self.database.trouble.clear()
        self.database.forget()
        self.page.size(self.width, self.height)
        self.page.prefer(self.theme)
        if not self.page.run(READY) or not self.page.run("location.href").startswith(self.address):
            self.load("#/")
        self.page.run("""import('/dom.js').then(({ remembered }) => { remembered.values.clear(); localStorage.clear(); delete document.documentElement.dataset.theme; document.querySelectorAll('dialog, .toast').forEach((one) => one.remove());
            document.activeElement?.blur(); const find = document.querySelector('#find'); find.value = '';
            find.dispatchEvent(new Event('input')); })""")
        self.page.logged.clear()
        self.page.requests.clear()

    def tearDown(self):
        self.assertEqual(self.page.logged, [], "the page wrote errors to the console")
        self.assertIsNone(self.page.run("window.pwned ?? null"), "a value ran as a script")
        outside = [one for one in self.page.requests if not one.startswith((self.address, "data:"))]
        self.assertEqual(outside, [], "the page requested something outside this machine")

    def go(self, place, ready):
        """Shows a place of the page that is open, drawn anew, and waits for an element that fits `ready`."""
        self.page.run(f"""(() => {{ document.querySelector('main').replaceChildren();
            if (location.hash === {json.dumps(place)}) dispatchEvent(new HashChangeEvent('hashchange')); else location.hash = {json.dumps(place)}; }})()""")
        self.page.wait(f"document.querySelector({json.dumps(ready)})", what=ready)

    def load(self, place):
        """Opens a place of the page as a new visit does."""
        self.page.open("about:blank")
        self.page.open(self.address + place)
        self.page.wait(READY)

    def view(self, name):
        if name == "time" and not self.database.has_changes():
            self.commit("UPDATE Person SET height = height WHERE id = ?", [12], "Person", 12)
        self.go(*VIEWS[name])

    def cell(self, row, column):
        """The text of a cell, by the row's place and the column's number, both from 0."""
        return self.page.run(f"document.querySelector('.line[data-index=\"{row}\"]:not(.waiting)')?.children[{column}]?.innerText ?? null")

    def wait_cell(self, row, column, text):
        self.page.wait(f"document.querySelector('.line[data-index=\"{row}\"]:not(.waiting)')?.children[{column}]?.innerText === {json.dumps(text)}",
                       what=f"{text!r} in row {row}, column {column}; there is {self.cell(row, column)!r}")

    def commit(self, statement, values, table, key, kind="update"):
        """A change by another process."""
        if not self.database.is_double:
            self.database.change(statement, values)
            return
        before = self.database.sql.execute(f"SELECT * FROM {table} WHERE id = ?", (key,)).fetchone()
        self.database.change(statement, values, table, str(key) if key else None, kind, before)

    def picture(self, name):
        if PICTURES:
            os.makedirs(PICTURES, exist_ok=True)
            self.page.picture(os.path.join(PICTURES, f"{name}.png"))

    def pictures(self, name):
        """A picture in each theme."""
        if PICTURES:
            time.sleep(1.8)  # Until what flashes has its colour again.
            for theme in ("light", "dark"):
                self.page.prefer(theme)
                self.picture(f"{name}-{theme}")
            self.page.prefer(self.theme)


CONTRAST = r"""(() => {
    const parse = (text) => { const n = (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
        return text.startsWith('color(srgb') ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] : [n[0], n[1], n[2], n[3] ?? 1]; };
    const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
    const light = (c) => { const f = (v) => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
        return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
    const ratio = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + .05) / (Math.min(x, y) + .05); };
    const ground = (e) => { const layers = [];
        for (let at = e; at; at = at.parentElement) { const c = parse(getComputedStyle(at).backgroundColor);
            if (c[3] > 0) layers.push(c); if (c[3] === 1) break; }
        return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]); };
    const poor = [];
    let seen = 0;
    for (const e of document.querySelectorAll('body *')) {
        if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        const box = e.getBoundingClientRect();
        const style = getComputedStyle(e);
        if (!box.width || !box.height || style.visibility === 'hidden' || e.closest('.out, .skip, noscript, title')) continue;
        const drawn = e instanceof SVGElement;
        let below = ground(drawn ? e.closest('svg').parentElement : e);
        if (drawn) { const rect = e.parentElement.querySelector(':scope > rect') ?? e.closest('.box')?.querySelector('rect');
            if (rect) below = over(parse(getComputedStyle(rect).fill), below); }
        const ink = over(parse(drawn ? style.fill : style.color), below);
        const size = parseFloat(style.fontSize);
        const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
        seen += 1;
        const found = ratio(ink, below);
        if (found < needed) poor.push(`${e.tagName}.${e.getAttribute('class')} '${e.textContent.slice(0, 30)}' ${found.toFixed(2)}`);
    }
    const root = getComputedStyle(document.documentElement);
    const probe = document.createElement('i');
    document.body.append(probe);
    const token = (name) => { probe.style.color = root.getPropertyValue(name); return parse(getComputedStyle(probe).color); };
    for (const [one, other] of [['--edge', '--ground'], ['--edge', '--raised'], ['--accent', '--ground'], ['--accent', '--raised'], ['--accent', '--accent-wash'],
        ['--ink', '--flash'], ['--soft', '--flash'], ['--accent', '--flash'], ['--soft', '--sunk'], ['--soft', '--accent-wash']]) {
        const needed = one === '--edge' ? 3 : 4.5;
        const found = ratio(token(one), token(other));
        if (found < needed) poor.push(`${one} on ${other} ${found.toFixed(2)}`);
    }
    probe.remove();
    return { seen, poor };
})()"""
