"""Values and names made to break a page, in every place where a value can appear. PageCase checks that none ran."""

import json

from mock import HOSTILE
from support import PageCase


class HostileTests(PageCase):
    def clean(self):
        """No element of the page comes from a value."""
        self.assertEqual(self.page.count("main script, main iframe, main b b, main i i, main [onerror], main [onload], main img[src='x']"), 0)
        self.assertEqual(self.page.count("a[href^='javascript']"), 0)
        raw = self.page.run("/[\\u0000-\\u0008\\u000b-\\u001f\\u007f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.querySelector('main').innerText)")
        self.assertFalse(raw, "a control or direction character has effect")

    def test_in_a_grid_and_its_head(self):
        self.go("#/table/Hostile", ".line:not(.waiting)")
        self.assertEqual(self.cell(0, 1), HOSTILE[0])
        self.assertEqual(self.cell(6, 1), "abcRLOdefPDF LRIghiPDI")
        self.assertEqual(self.page.run("document.querySelector('.head .cell:nth-child(4) .label').textContent"), "<b>bold</b>")
        self.clean()
        heights = self.page.run("[...new Set([...document.querySelectorAll('.line')].map((e) => e.offsetHeight))]")
        self.assertEqual(heights, [30])
        self.picture("hostile-light")

    def test_in_a_row_its_title_its_links_and_lists(self):
        for key in range(1, len(HOSTILE) + 1):
            self.go(f"#/table/Hostile/{key}", "dl.properties dt") if key == 1 else self.page.run(f"location.hash = '#/table/Hostile/{key}'")
            self.page.wait(f"document.querySelector('dl.properties dd')?.innerText === '{key}'")
            self.clean()
        self.page.run("location.hash = '#/table/Hostile/1'")
        self.page.wait("document.querySelector('dl.properties dd')?.innerText === '1'")
        self.page.click("details summary")
        self.page.wait("document.querySelector('details .line:not(.waiting)')")
        self.clean()

    def test_in_results_charts_plans_and_earlier_queries(self):
        self.view("query")
        self.page.fill("#query", "SELECT text AS \"<img src=x onerror='window.pwned=1'>\", id FROM Hostile")
        self.page.press("Enter", control=True)
        self.wait_cell(0, 0, HOSTILE[0])
        self.clean()
        for tab, ready in {"chart": "rect.bar", "plan": ".plan li", "history": ".history button"}.items():
            self.page.click(f"[data-tab={tab}]")
            self.page.wait(f"document.querySelector('{ready}')")
            self.clean()

        self.page.fill("#query", "SELECT 1 AS \"abc\u202edef\", 2")
        self.page.press("Enter", control=True)
        self.page.wait("document.querySelector('.head .label')?.textContent === 'abcRLOdef'")
        self.clean()

    def test_in_names_of_queries_and_in_counted_values(self):
        tabs = [{"name": text[:80], "text": text} for text in HOSTILE] + [None, 7, {"name": "no text"}]
        self.page.run(f"""fetch('api/remembered', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }},
            body: JSON.stringify({{ name: 'tabs', value: {json.dumps(tabs)} }}) }})""")
        self.load("#/query")
        self.assertEqual(self.page.count("#queries button"), len(HOSTILE))
        for number in range(len(HOSTILE)):
            self.page.run(f"document.querySelectorAll('#queries button')[{number}].click()")
        self.clean()
        self.go("#/table/Hostile", ".line:not(.waiting)")
        self.page.click(".head .cell:nth-child(2) .values")
        self.page.wait("document.querySelectorAll('.facets button').length > 10")
        self.assertEqual(self.page.count("dialog script, dialog img, dialog svg"), 0)
        self.page.press("Escape")

    def test_in_conditions_errors_and_addresses(self):
        self.go("#/table/Hostile?where=%3Cimg%20src%3Dx%20onerror%3D'window.pwned%3D1'%3E%E2%80%AE", ".problem")
        self.clean()
        self.go("#/table/%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E", ".state")
        self.clean()

    def test_in_changes_of_the_past_and_of_now(self):
        self.go("#/live", ".tiles a")
        self.page.wait("document.querySelector('.dot.on')")
        for key, text in enumerate(HOSTILE[:5], 1):
            self.commit("UPDATE Hostile SET text = ? || '!' WHERE id = ?", [text, key], "Hostile", key)
        # The program's events have the commits of a quarter of a second.
        for key in range(1, 6):
            self.page.wait(f"document.querySelector('#feed a[href=\"#/table/Hostile/{key}\"]')")
        self.clean()
        self.view("time")
        self.page.wait("document.querySelector('#commit .is')")
        self.clean()
        for key, text in enumerate(HOSTILE[:5], 1):
            self.commit("UPDATE Hostile SET text = ? WHERE id = ?", [text, key], "Hostile", key)


class HostileFormTests(PageCase):
    writes = True

    def test_in_a_form_and_the_statement_it_shows(self):
        self.go("#/table/Hostile", ".line:not(.waiting)")
        self.page.click(".line[data-index='2'] .cell:nth-child(2)", double=True)
        self.page.wait("document.activeElement.id === 'field-text'")
        self.page.write("</pre><script>window.pwned=1</script>")
        self.page.wait("document.querySelector('.statement pre')?.innerText.includes('<script>')")
        self.page.run("""(() => { const field = document.getElementById('field-__proto__'); field.value = 'plain'; field.dispatchEvent(new Event('input')); })()""")
        self.page.wait("document.querySelector('.statement pre')?.innerText.includes(\"__proto__ = 'plain'\")")
        self.assertEqual(self.page.count("dialog script"), 0)
