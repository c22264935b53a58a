"""Keyboard, screen readers, themes and narrow windows, for every view."""

from support import CONTRAST, PageCase, VIEWS


class ContrastTests(PageCase):
    def check(self, theme):
        self.commit("UPDATE Person SET height = height WHERE id = ?", [12], "Person", 12)
        self.page.prefer(theme)
        for name in VIEWS:
            with self.subTest(view=name):
                self.view(name)
                found = self.page.run(CONTRAST)
                self.assertGreater(found["seen"], 15)
                self.assertEqual(found["poor"], [])
                self.picture(f"{name}-{theme}")

    def test_light_has_the_contrast_of_wcag_aa(self):
        self.check("light")

    def test_dark_has_the_contrast_of_wcag_aa(self):
        self.check("dark")

    def test_dialogs_errors_and_completions_have_it_in_both(self):
        for theme in ("light", "dark"):
            with self.subTest(theme=theme):
                self.page.prefer(theme)
                self.view("grid")
                self.page.fill("#where", "wage")
                self.page.press("Enter")
                self.page.wait("document.querySelector('.caret')")
                self.page.fill("#where", "de")
                self.page.press(" ", control=True)
                self.page.wait("document.querySelector('.words li[aria-selected=true]')")
                self.assertEqual(self.page.run(CONTRAST)["poor"], [])
                self.picture(f"condition-{theme}")
                self.page.press("Escape")
                self.page.run("document.querySelector('#main').focus()")
                self.page.press("?")
                self.page.wait("document.querySelector('dialog[open]')")
                self.assertEqual(self.page.run(CONTRAST)["poor"], [])
                self.picture(f"help-{theme}")
                self.page.press("Escape")


class ThemeTests(PageCase):
    def test_the_theme_follows_the_system_until_it_is_chosen(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        self.view("tables")
        self.assertEqual(self.page.run(ground), "rgb(255, 255, 255)")
        self.page.prefer("dark")
        self.page.wait(f"{ground} !== 'rgb(255, 255, 255)'")
        self.page.click("#theme")
        self.page.wait(f"{ground} === 'rgb(255, 255, 255)'")
        self.load("#/schema")
        self.assertEqual(self.page.run(ground), "rgb(255, 255, 255)")


class NarrowTests(PageCase):
    width, height = 360, 740

    def test_every_view_fits_360_pixels(self):
        for name in VIEWS:
            with self.subTest(view=name):
                self.view(name)
                self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 360)
                self.assertLessEqual(self.page.run("document.querySelector('#main').scrollWidth"), 360)
                wide = self.page.run("[...document.querySelectorAll('#bar > *, .top > *, .filter > *')].filter((e) => e.getBoundingClientRect().right > 361).map((e) => e.outerHTML.slice(0, 80))")
                self.assertEqual(wide, [])
                self.picture(f"{name}-narrow")

    def test_the_menu_opens_and_closes(self):
        self.view("tables")
        self.assertFalse(self.page.run("!!document.querySelector('#side').offsetWidth"))
        self.page.click("#menu")
        self.page.wait("document.querySelector('#side').offsetWidth > 200")
        self.picture("menu-narrow")
        self.page.click("#tables a[data-table=Task]")
        self.page.wait("location.hash === '#/table/Task' && !document.querySelector('#side').offsetWidth")


class KeyboardTests(PageCase):
    def test_two_keys_lead_to_each_view(self):
        self.view("tables")
        for key, place in {"q": "query", "l": "live", "h": "time", "p": "storage", "d": "schema", "t": ""}.items():
            self.page.press("g")
            self.page.press(key)
            self.page.wait(f"location.hash === '#/{place}'")
            self.page.run("document.activeElement.blur()")

    def test_the_help_opens_closes_and_gives_the_focus_back(self):
        self.view("tables")
        self.page.run("document.querySelector('#tables a').focus()")
        self.page.press("?")
        self.page.wait("document.querySelector('dialog[open]')")
        self.page.press("Escape")
        self.page.wait("!document.querySelector('dialog')")
        self.assertTrue(self.page.run("document.activeElement.matches('#tables a')"))

    def test_a_dialog_leaves_the_focus_where_it_went_after_the_closing(self):
        self.view("grid")
        self.page.run("document.querySelector('.head [tabindex], .body').focus()")
        self.page.press("?")
        self.page.wait("document.querySelector('dialog[open]')")
        self.page.run("document.querySelector('dialog').close(); document.querySelector('#where').focus()")
        self.page.wait("!document.querySelector('dialog')")
        self.assertEqual(self.page.run("document.activeElement.id"), "where")

    def test_a_grid_is_walked_and_a_row_opened_with_keys_alone(self):
        self.view("grid")
        for _ in range(60):
            self.page.press("Tab")
            if self.page.run("document.activeElement.matches('.grid')"):
                break
        for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
            self.page.press(key)
        told = self.page.run("document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).innerText")
        self.assertEqual(told, "Cleo")
        self.page.press("Enter")
        self.page.wait("location.hash === '#/table/Person/3'")

    def test_the_focus_is_visible(self):
        self.view("grid")
        for _ in range(25):
            self.page.press("Tab")
            seen = self.page.run("""(() => { const e = document.activeElement; const s = getComputedStyle(e);
                return e === document.body || s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 ? null : e.outerHTML.slice(0, 120); })()""")
            self.assertIsNone(seen)


class ScreenReaderTests(PageCase):
    def test_everything_that_takes_the_focus_has_a_name_and_a_role(self):
        for name in VIEWS:
            with self.subTest(view=name):
                self.view(name)
                nodes = self.page.send("Accessibility.getFullAXTree")["nodes"]
                for node in nodes:
                    focusable = any(one["name"] == "focusable" and one["value"].get("value") for one in node.get("properties", []))
                    if node.get("ignored") or not focusable or node["role"]["value"] in ("RootWebArea", "main"):
                        continue
                    self.assertTrue(node.get("name", {}).get("value"), f"a {node['role']['value']} has no name")
                    self.assertNotIn(node["role"]["value"], ("generic", "none"))

    def test_a_grid_says_how_many_rows_it_has_and_where_each_is(self):
        self.view("grid")
        self.assertEqual(self.page.run("document.querySelector('[role=grid]').getAttribute('aria-rowcount')"), "241")
        self.assertEqual(self.page.run("document.querySelector('.line[data-index=\"3\"]').getAttribute('aria-rowindex')"), "5")
        self.assertEqual(self.page.count("[role=grid] [role=columnheader]"), 13)
