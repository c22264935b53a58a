"""What holds for any server and any database: `MAKO_STUDIO_LINK`, the link that `mako studio` prints, or the double where none is given."""

import functools
import json
import os
import unittest

import contract
import support
from support import CONTRAST, PageCase

LINK = os.environ.get("MAKO_STUDIO_LINK")


@functools.cache
def server():
    support.Shared.start()
    if LINK:
        return contract.Server(LINK)
    address, database = support.Shared.server(False)
    return contract.Server(address, None if database.is_double else database.cookie)


class ContractTests(unittest.TestCase):
    def test_every_answer_has_the_shape_that_the_page_needs(self):
        self.assertEqual(contract.check(server()), [])

    def test_a_wrong_shape_is_noticed(self):
        self.assertEqual(contract.differences({"rows": [], "start": 1}, contract.ROWS), ["answer.start is 1, not bool", "answer.end is missing"])
        self.assertEqual(contract.differences({"name": "a", "children": [{}]}, contract.OPERATOR), ["answer.children[0].name is missing"])


class LinkTests(PageCase):
    def setUp(self):
        super().setUp()
        if LINK:
            # The token of a link works once: the browser gets the cookie that it was exchanged for.
            self.address = server().origin + "/"
            for cookie in server().cookies:
                self.page.send("Network.setCookie", name=cookie.name, value=cookie.value, url=self.address, sameSite="Strict")
        self.load("#/")
        self.table = self.page.run("fetch('api/schema').then((answer) => answer.json()).then((schema) => schema.tables.find((table) => table.rows > 0) ?? null)")
        if self.table is None:
            self.skipTest("the database has no rows")

    def tearDown(self):
        super().tearDown()
        if LINK:
            self.page.open("about:blank")

    def place(self):
        return "#/table/" + self.page.run(f"encodeURIComponent({json.dumps(self.table['name'])})")

    def test_every_view_opens_with_readable_contrast(self):
        for theme in ("light", "dark"):
            self.page.prefer(theme)
            for name in ("", "query", "live", "time", "storage", "schema"):
                with self.subTest(view=name, theme=theme):
                    self.go(f"#/{name}", "main h1")
                    self.page.wait("!document.querySelector('main .loading')")
                    self.assertEqual(self.page.count("main .problem"), 0, self.page.text())
                    self.assertEqual(self.page.run(CONTRAST)["poor"], [])
                    self.picture(f"link-{name or 'tables'}-{theme}")

    def test_rows_open_and_lists_unfold(self):
        self.go(self.place(), ".line:not(.waiting)")
        self.picture("link-grid")
        self.page.run("document.querySelector('.grid').focus()")
        self.page.press("Enter")
        self.page.wait("document.querySelector('dl.properties dt')")
        self.picture("link-row")
        for number in range(self.page.count("details")):
            self.page.run(f"document.querySelectorAll('details')[{number}].open = true")
        self.page.wait("[...document.querySelectorAll('details')].every((one) => one.querySelector('.line:not(.waiting), .grid-note:not(:empty)'))")
        self.assertEqual(self.page.count(".problem"), 0)

    def test_a_wrong_condition_shows_its_place(self):
        self.go(self.place(), ".line:not(.waiting)")
        self.page.fill("#where", "1 = = 2")
        self.page.press("Enter")
        self.page.wait("document.querySelector('.caret')?.textContent.endsWith('^')")

    def test_a_query_gives_rows_and_a_plan(self):
        self.go("#/query", "#run")
        name = '"' + self.table["name"].replace('"', '""') + '"'
        self.page.fill("#query", f"SELECT * FROM {name} LIMIT 5")
        self.page.press("Enter", control=True)
        self.page.wait("document.querySelector('#panel .line:not(.waiting)')")
        self.page.click("[data-tab=plan]")
        self.page.wait("document.querySelector('.plan li')")
