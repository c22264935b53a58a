"""Every view of the page, as a user goes through it."""

import json
import time

from support import PageCase, needs_double


class TablesTests(PageCase):
    def test_tables_show_rows_sizes_and_indexes(self):
        self.view("tables")
        text = self.page.text()
        self.assertIn("6 tables", text)
        self.assertIn(f"{self.database.readings:,}", text)
        self.assertRegex(text, r"Reading\s+[\d,]+\s+[\d.]+ [KM]iB")

    def test_a_table_is_found_by_its_name(self):
        self.view("tables")
        self.page.press("/")
        self.page.write("task")
        self.page.wait("document.querySelectorAll('#tables a').length === 1")
        self.page.press("Enter")
        self.page.wait("location.hash === '#/table/Task'")
        self.page.fill("#find", "no such")
        self.page.wait("document.querySelector('#tables').innerText.includes('No table has this')")

    def test_an_unknown_place_says_what_to_do(self):
        self.go("#/table/Nothing", ".state a")
        self.assertIn("no such table", self.page.text())
        self.page.run("location.hash = '#/elsewhere'")
        self.page.wait("document.querySelector('main').innerText.includes('no such view')")


class GridTests(PageCase):
    def test_cells_are_typed_and_null_is_not_the_empty_text(self):
        self.view("grid")
        self.assertEqual([self.cell(0, n) for n in range(8)], ["1", "Ada", "33", "1.51", "true", "1941-02-02", "Letters 2", "''"])
        self.assertEqual(self.cell(2, 2), "null")
        self.assertEqual(self.cell(3, 7), "null")
        self.assertIn("84 B", self.cell(0, 8))
        self.page.wait("document.querySelector('.line[data-index=\"0\"] img.thumb').naturalWidth === 16")

    def test_a_condition_filters_and_can_be_cleared(self):
        self.view("grid")
        self.page.press("f")
        self.page.write("age > 60 AND isAdmin")
        self.page.press("Enter")
        self.page.wait("document.querySelector('#position').innerText.includes('match')")
        self.page.wait("location.hash.includes('where=age')")
        self.assertGreater(int(self.cell(0, 2)), 60)
        self.page.run("history.back()")
        self.page.wait("document.querySelector('#position').innerText === '240 rows'")

    def test_a_wrong_condition_shows_the_place_with_a_caret(self):
        self.view("grid")
        self.page.fill("#where", "name = 'Ada' AND wage > 3")
        self.page.press("Enter")
        caret = self.page.wait("document.querySelector('.caret')?.textContent")
        self.assertEqual(caret, "name = 'Ada' AND wage > 3\n" + " " * 17 + "^")
        self.page.fill("#where", "nothing")
        self.page.click(".filter > button")
        self.wait_cell(0, 1, "Ada")
        self.assertEqual(self.page.count(".problem"), 0)

    def test_a_condition_opens_as_a_query(self):
        self.go("#/table/Person?where=age%20%3E%2060&order=age%20DESC", ".line:not(.waiting)")
        self.page.click("#as-query")
        self.page.wait("document.querySelector('#status')?.innerText.includes('rows in')")
        self.assertEqual(self.page.run("document.querySelector('#query').value"), "SELECT * FROM Person WHERE age > 60 ORDER BY age DESC LIMIT 1000")

    def test_the_plan_of_a_condition_says_which_index_would_help(self):
        self.go("#/table/Person?where=age%20%3E%2060", ".line:not(.waiting)")
        self.page.click("#plan")
        self.page.wait("document.querySelector('dialog .plan li')")
        self.assertIn("CREATE INDEX", self.page.text("dialog .advice"))
        self.page.press("Escape")
        self.page.wait("!document.querySelector('dialog')")
        self.page.fill("#where", "")
        self.page.press("Enter")
        self.page.wait("document.querySelector('#plan').disabled")

    def test_no_match_says_so(self):
        self.view("grid")
        self.page.fill("#where", "age > 900")
        self.page.press("Enter")
        self.page.wait("document.querySelector('.grid-note').innerText.includes('No row matches')")

    def test_an_empty_table_says_so(self):
        self.go("#/table/Empty", ".state")
        self.assertIn("Empty has no rows yet", self.page.text())

    def test_words_are_completed_along_references(self):
        self.view("grid")
        self.page.fill("#where", "dep")
        self.page.wait("document.querySelector('.words:not([hidden]) li')")
        self.page.press("Tab")
        self.page.wait("document.querySelector('#where').value === 'department'")
        self.page.write(".ci")
        self.page.wait("document.querySelector('.words:not([hidden]) li')?.innerText.startsWith('city')")
        self.page.press("ArrowDown")
        self.assertTrue(self.page.run("!!document.getElementById(document.querySelector('#where').getAttribute('aria-activedescendant'))"))
        self.page.press("Enter")
        self.assertEqual(self.page.run("document.querySelector('#where').value"), "department.city")

    def test_a_click_on_a_column_sorts_by_it_then_the_other_way_then_not(self):
        self.view("grid")
        self.page.click(".head .cell:nth-child(2) button")
        self.page.wait("document.querySelector('.head .cell:nth-child(2)').getAttribute('aria-sort') === 'ascending'")
        self.wait_cell(0, 1, "Ada")
        self.wait_cell(1, 1, "Ada B.")
        self.page.click(".head .cell:nth-child(2) button")
        self.page.wait("document.querySelector('.head .cell:nth-child(2)').getAttribute('aria-sort') === 'descending'")
        self.wait_cell(0, 1, "Øyvind O.")
        self.page.click(".head .cell:nth-child(2) button")
        self.wait_cell(1, 1, "Bob")

    def test_the_values_of_a_column_are_counted_and_filter(self):
        self.go("#/table/Person?where=age%20%3E%2060", ".line:not(.waiting)")
        expected = self.page.run("""fetch('api/query', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ id: 'test', text:
            'SELECT department, count(*) FROM Person WHERE age > 60 GROUP BY department ORDER BY count(*) DESC' }) })
            .then((answer) => answer.json()).then((answer) => answer.rows.map((row) => [row[0]?.text ?? null, row[1].text]))""")
        column = self.page.run("[...document.querySelectorAll('.head .label')].findIndex((one) => one.innerText === 'department') + 1")
        self.page.click(f".head .cell:nth-child({column}) .values")
        self.page.wait("document.activeElement.closest('.facets')")
        shown = self.page.run("[...document.querySelectorAll('.facets button')].map((one) => [...one.children].map((part) => part.innerText))")
        self.assertEqual(sorted(number for _, number in shown), sorted(number for _, number in expected))
        names = {"1": "Engines 1", "2": "Letters 2", "3": "Sails 3", None: "null"}
        self.assertEqual(sorted(value for value, _ in shown), sorted(names[value] for value, _ in expected))
        self.picture("values-light")
        self.page.press("Enter")
        self.page.wait("document.querySelector('#where').value.startsWith('age > 60 AND department ')")
        self.page.wait(f"document.querySelector('#position').innerText.startsWith('{shown[0][1]} row')")
        self.assertTrue(self.page.run("document.activeElement.matches('.grid')"))

    def test_a_condition_that_ends_with_a_comment_is_narrowed(self):
        self.go("#/table/Person?where=age%20%3E%2060%20--%20retired%2C%20or%20nearly", ".line:not(.waiting)")
        self.page.run("document.querySelector('.grid').focus()")
        self.page.press("=")
        self.page.wait("document.querySelector('#where').value.includes('/* retired, or nearly */) AND ')")
        self.page.wait("document.querySelector('#position').innerText === '1 row match'")
        self.assertEqual(self.page.text(".filter-problem"), "")

    def test_each_value_of_a_row_filters_for_that_row(self):
        for key in (1, 5, 10):
            self.go(f"#/table/Person?where=id%20%3D%20{key}", ".line:not(.waiting)")
            columns = self.page.count(".head .cell")
            for column in range(1, columns):
                self.go(f"#/table/Person?where=id%20%3D%20{key}", ".line:not(.waiting)")
                self.page.run("document.querySelector('.grid').focus()")
                for _ in range(column):
                    self.page.press("ArrowRight")
                kind = self.page.run(f"document.querySelector('.head .cell:nth-child({column + 1})').title")
                self.page.press("=")
                if any(one in kind for one in ("bytes", "blob", "place")):
                    continue
                self.page.wait(f"document.querySelector('#where').value.startsWith('id = {key} AND ')", what=f"a condition for {kind}")
                self.page.wait("document.querySelector('.grid:not([aria-busy])') && document.querySelector('#position').innerText", what=f"an answer for {kind}")
                self.assertEqual((self.page.text(".filter-problem"), self.page.text("#position")), ("", "1 row match"),
                                 self.page.run("document.querySelector('#where').value"))

    def test_the_condition_of_a_link_has_the_type_of_its_column(self):
        columns = [{"name": "team", "detail": "text", "target": "Team"}, {"name": "boss", "detail": "reference", "target": "Person"}, {"name": "about", "detail": "text", "target": "*"}]
        found = self.page.run(f"import('/facets.js').then(({{ equals }}) => {json.dumps(columns)}.map((column) => equals(column, {{ kind: 'link', table: 'Team', key: '007' }}) ?? null))")
        self.assertEqual(found, ["team = '007'", "boss = 007", None])

    def test_an_empty_text_is_sent_as_a_key(self):
        self.assertEqual(self.page.run("import('/api.js').then(({ api }) => api.blobAddress('Team', '', 'photo'))"), "api/blob?table=Team&key=&column=photo")

    def test_names_that_are_keywords_are_quoted(self):
        names = ["null", "TRUE", "not", "check", "name", "notes"]
        found = self.page.run(f"import('/complete.js').then(({{ quoted }}) => {names}.map(quoted))")
        self.assertEqual(found, ['"null"', '"TRUE"', '"not"', '"check"', "name", "notes"])

    def test_json_is_indented_as_it_is_stored(self):
        text = r'{"a":1e400,"a":[1.10,{ },"]\"}"],"b":12345678901234567890}'
        shown = self.page.run(f"import('/cell.js').then(({{ wholeContent }}) => wholeContent({{ kind: 'json', text: {json.dumps(text)} }}, {{}}).textContent)")
        self.assertEqual(shown, '{\n  "a": 1e400,\n  "a": [\n    1.10,\n    {},\n    "]\\"}"\n  ],\n  "b": 12345678901234567890\n}')

    def test_column_widths_stay(self):
        self.view("grid")
        width = "document.querySelector('.head .cell').getBoundingClientRect().width"
        before = self.page.run(width)
        self.page.run("document.querySelector('.grid').focus()")
        self.page.press("ArrowRight", shift=True)
        self.page.press("ArrowRight", shift=True)
        self.assertEqual(self.page.run(width), before + 32)
        self.load("#/table/Person")
        self.page.wait("document.querySelector('.head .cell')")
        self.assertEqual(self.page.run(width), before + 32)

    def test_widths_theme_and_queries_stay_at_another_port(self):
        self.view("grid")
        self.page.run("document.querySelector('.grid').focus()")
        self.page.press("ArrowRight", shift=True)
        self.page.click("#theme")
        self.view("query")
        self.page.fill("#query", "SELECT 'kept'")
        self.page.wait("fetch('api/remembered').then((answer) => answer.json()).then((all) => JSON.stringify(all).includes('kept') && all.theme === 'light')")
        # The storage of the browser is in plain text, and pages of other databases at this port read it.
        self.assertEqual(self.page.run("Object.keys(localStorage)"), ["mako.theme"])
        self.page.run("localStorage.clear()")  # The origin of another port has a storage of its own.
        self.load("#/query")
        self.assertEqual(self.page.run("document.querySelector('#query').value"), "SELECT 'kept'")
        self.assertEqual(self.page.run("document.documentElement.dataset.theme"), "light")
        self.view("grid")
        self.assertEqual(self.page.run("document.querySelector('.head .cell').getBoundingClientRect().width"), 120)

    def test_rows_are_exported_as_filtered(self):
        self.go("#/table/Person?where=age%20%3E%2060&order=age%20DESC", ".line:not(.waiting)")
        text = self.page.run("fetch(document.querySelector('a[download]').href).then((answer) => answer.text())")
        self.assertIn("id,name,age", text)
        self.assertEqual(text.count("\n") - 1, int(self.page.text("#position").split()[0]))


class MillionRowTests(PageCase):
    def rows_fetched(self):
        return sum(int(one.split("limit=")[1].split("&")[0]) for one in self.page.requests if "/api/rows" in one)

    def scroll(self, share):
        self.page.run(f"(() => {{ const g = document.querySelector('.grid'); g.scrollTop = {share} * (g.scrollHeight - g.clientHeight); }})()")

    def first_seen(self):
        """Place and key of the first row whose top is in sight."""
        return self.page.run("""(() => { const g = document.querySelector('.grid').getBoundingClientRect();
            const line = [...document.querySelectorAll('.line:not(.waiting)')].map((e) => [e.getBoundingClientRect().top - g.top - 32, e])
                .filter(([top]) => top > -16 && top < 400).sort((a, b) => a[0] - b[0])[0];
            return line ? [Number(line[1].dataset.index), Number(line[1].dataset.key)] : null; })()""")

    def settled(self):
        """Waits until no row in sight is missing."""
        self.page.wait("""(() => { const g = document.querySelector('.grid').getBoundingClientRect();
            const all = [...document.querySelectorAll('.line')].filter((e) => { const r = e.getBoundingClientRect(); return r.bottom > g.top + 40 && r.top < g.bottom; });
            return all.length > 10 && !all.some((e) => e.classList.contains('waiting')); })()""")
        return self.first_seen()

    def test_the_first_rows_of_a_million_are_painted_within_300_ms(self):
        took = []
        while len(took) < 6 and not any(one < 300 for one in took):  # Again where other work had the processor.
            self.view("tables")
            self.page.requests.clear()
            took.append(self.page.run("""new Promise((done) => { const began = performance.now(); location.hash = '#/table/Reading';
                const look = () => requestAnimationFrame(() => document.querySelector('.line:not(.waiting)') ? done(performance.now() - began) : look());
                look(); })"""))
            self.assertEqual(self.rows_fetched(), 100)
        self.assertLess(min(took), 300)
        print(f"first paint of {self.database.readings:,} rows: {min(took):.0f} ms")

    def test_scrolling_goes_anywhere_and_reads_little(self):
        self.go("#/table/Reading", ".line:not(.waiting)")
        for share in (.5, .123, .9):
            self.scroll(share)
            place, key = self.settled()
            self.assertAlmostEqual(key, share * self.database.readings, delta=3000)
            self.assertAlmostEqual(place, key, delta=3000)
        self.scroll(1)
        self.page.wait("[...document.querySelectorAll('.line')].some((e) => e.dataset.key === '%s')" % self.database.readings)
        self.scroll(0)
        self.page.wait("document.querySelector('.line[data-key=\"1\"]')")
        self.assertEqual(self.settled(), [0, 1])
        self.assertLess(self.rows_fetched(), 3000)

    def test_slow_scrolling_shows_every_row_once_and_in_order(self):
        self.go("#/table/Reading", ".line:not(.waiting)")
        self.scroll(.4)
        self.settled()
        last = 0
        for _ in range(12):
            self.page.run("document.querySelector('.grid').scrollTop += 600")
            place, key = self.settled()
            self.assertIn(key - last, range(18, 23)) if last else None
            last = key
        keys = self.page.run("[...document.querySelectorAll('.line:not(.waiting)')].map((e) => [Number(e.dataset.index), Number(e.dataset.key)]).sort((a, b) => a[0] - b[0])")
        for (place, key), (next_place, next_key) in zip(keys, keys[1:]):
            self.assertEqual((next_place - place, next_key - key), (1, 1))

    def test_scrolling_back_past_what_is_held(self):
        self.go("#/table/Reading", ".line:not(.waiting)")
        for _ in range(30):
            self.page.run("document.querySelector('.grid').scrollTop += 1500")
            self.settled()
        self.assertEqual(self.page.run("document.querySelectorAll('.line').length < 60"), True)
        for _ in range(34):
            self.page.run("document.querySelector('.grid').scrollTop -= 1500")
            self.settled()
        self.assertEqual(self.first_seen(), [0, 1])

    def test_keys_go_to_the_last_row_and_back(self):
        self.go("#/table/Reading", ".line:not(.waiting)")
        self.page.run("document.querySelector('.grid').focus()")
        self.page.press("End", control=True)
        self.page.wait("document.querySelector('.line[aria-selected]')?.dataset.key === '%s'" % self.database.readings)
        self.page.press("ArrowUp")
        self.page.wait("document.querySelector('.line[aria-selected]')?.dataset.key === '%s'" % (self.database.readings - 1))
        self.page.press("Home", control=True)
        self.page.wait("document.querySelector('.line[aria-selected]')?.dataset.key === '1'")
        self.page.press("PageDown")
        self.page.wait("Number(document.querySelector('.line[aria-selected]')?.dataset.key) > 15")


class RowTests(PageCase):
    def test_relations_are_walked_in_both_directions(self):
        self.view("row")
        self.assertIn("Dana", self.page.text("h1"))
        self.assertIn("15 in Task", self.page.text())
        self.page.click("dl.properties a[href^='#/table/Department']")
        self.page.wait("document.querySelector('h1').innerText.includes('Sails')")
        self.assertIn("80 in Person", self.page.text())
        self.page.click("details[data-list='Person.department'] summary")
        self.page.wait("document.querySelector('details .line:not(.waiting)')")
        self.page.click("details .line[data-index='1'] .cell", double=True)
        self.page.wait("/^#\\/table\\/Person\\/\\d+$/.test(location.hash)")

    def test_values_are_shown_whole(self):
        self.view("row")
        self.assertIn('"theme": "dark"', self.page.text())
        self.page.wait("document.querySelector('img.picture').naturalWidth === 16")
        self.go("#/table/Hostile/6", "dl.properties dt")
        self.assertIn("a" * 20000, self.page.text("dd:nth-of-type(2)"))

    def test_a_row_that_is_gone_says_so(self):
        self.go("#/table/Person/99999", ".state")
        self.assertIn("There is no such row", self.page.text())

    def test_the_history_of_a_row_leads_to_its_commits(self):
        self.commit("UPDATE Person SET age = 71 WHERE id = ?", [9], "Person", 9)
        self.go("#/table/Person/9", "dl.properties dt")
        self.assertIn("History of this row", self.page.text())
        self.page.click("a[href^='#/time?commit=']")
        self.page.wait("document.querySelector('#commit .is')?.innerText === '71'")


class QueryTests(PageCase):
    def ask(self, text):
        self.page.fill("#query", text)
        self.page.press("Enter", control=True)

    def test_results_chart_plan_and_history(self):
        self.view("query")
        self.ask("SELECT d.name, count(*) AS people, avg(p.age) AS age FROM Person p JOIN Department d ON p.department = d.id GROUP BY d.name")
        self.wait_cell(0, 0, "Engines")
        self.assertIn("3 rows in", self.page.text("#status"))
        self.page.click("[data-tab=chart]")
        self.page.wait("document.querySelectorAll('svg.chart rect.bar').length === 3")
        self.picture("query-chart")
        self.page.click("[data-kind=line]")
        self.page.wait("!!document.querySelector('svg.chart .trace')")
        self.page.click("[data-tab=plan]")
        self.page.wait("document.querySelectorAll('.plan li').length > 1")
        self.assertRegex(self.page.text(".plan"), r"240 rows\D")
        self.assertRegex(self.page.text(".plan"), r"estimated 2\d\d\D")
        self.page.click("[data-tab=history]")
        self.page.wait("document.querySelectorAll('.history button').length === 1")

    def test_a_plan_says_which_index_would_replace_a_scan(self):
        self.view("query")
        self.ask("SELECT p.name, d.name FROM Person p JOIN Department d ON p.department = d.id WHERE p.age > 60")
        self.page.wait("document.querySelector('#status').innerText.includes('rows in')")
        self.page.click("[data-tab=plan]")
        self.page.wait("document.querySelector('.advice')?.innerText.includes('CREATE INDEX Person_age ON Person (age)')")
        self.pictures("query-plan")

    def test_an_error_shows_its_place(self):
        self.view("query")
        self.ask("SELECT wage FROM Person")
        self.assertEqual(self.page.wait("document.querySelector('.caret')?.textContent"), "SELECT wage FROM Person\n       ^")
        self.ask("DELETE FROM Person")
        self.page.wait("document.querySelector('.problem')?.innerText.includes('begins with SELECT')")

    def test_a_large_result_is_cut_and_says_so(self):
        self.view("query")
        self.ask("SELECT * FROM Reading")
        self.page.wait("document.querySelector('#panel').innerText.includes('Cut after 1,000 rows')")

    def test_a_query_can_be_cancelled(self):
        self.database.trouble["query"] = {"delay": 3}
        self.view("query")
        pairs = "Reading a, Reading b, Reading c"
        self.ask("SELECT 1" if self.database.is_double else f"SELECT count(*) FROM {pairs} WHERE a.value + b.value + c.value < 0")
        self.page.wait("!document.querySelector('#cancel').disabled")
        self.page.click("#cancel")
        self.page.wait("document.querySelector('#status').innerText === 'Cancelled'", timeout=1)

    def test_earlier_queries_come_back_with_keys(self):
        self.view("query")
        for text in ("SELECT 1", "SELECT 2"):
            self.ask(text)
            self.wait_cell(0, 0, text[-1])
        self.page.run("document.querySelector('#query').focus()")
        self.page.press("ArrowUp", alt=True)
        self.assertEqual(self.page.run("document.querySelector('#query').value"), "SELECT 1")

    def test_queries_stay_open_with_their_names_and_results(self):
        self.view("query")
        self.ask("SELECT 11")
        self.wait_cell(0, 0, "11")
        self.page.click("#name-query")
        self.page.wait("document.activeElement.id === 'name'")
        self.page.write("Eleven <b>")
        self.page.press("Enter")
        self.page.wait("document.querySelector('#queries button').innerText === 'Eleven <b>'")
        self.page.click("#new-query")
        self.page.wait("document.activeElement.id === 'query' && document.activeElement.value === ''")
        self.ask("SELECT 22")
        self.wait_cell(0, 0, "22")
        self.pictures("query-tabs")
        self.page.click("#queries button")
        self.wait_cell(0, 0, "11")
        self.view("tables")
        self.view("query")
        self.wait_cell(0, 0, "11")
        self.load("#/query")
        self.assertEqual(self.page.run("[...document.querySelectorAll('#queries button')].map((one) => one.innerText)"), ["Eleven <b>", "Query 2"])
        self.assertEqual(self.page.run("document.querySelector('#query').value"), "SELECT 11")
        self.page.run("document.querySelector('#queries button').focus()")
        self.page.press("ArrowRight")
        self.page.wait("document.querySelector('#query').value === 'SELECT 22'")
        self.page.press("Delete")
        self.page.wait("document.querySelectorAll('#queries button').length === 1")
        self.page.click(".toast button")
        self.page.wait("document.querySelector('#query').value === 'SELECT 22'")

    def test_words_are_completed_in_statements(self):
        self.view("query")
        self.page.fill("#query", "SELECT * FROM Dep")
        self.page.wait("document.querySelector('.words:not([hidden]) li')?.innerText.startsWith('Department')")
        self.page.press("Tab")
        self.assertEqual(self.page.run("document.querySelector('#query').value"), "SELECT * FROM Department")


class LiveTests(PageCase):
    def test_a_change_elsewhere_appears_and_flashes(self):
        self.view("grid")
        self.page.wait("document.querySelector('.dot.on')")
        self.page.run("document.querySelectorAll('.line').forEach((one) => { one.isOld = true; })")
        self.commit("UPDATE Person SET age = 64 WHERE id = ?", [2], "Person", 2)
        self.wait_cell(1, 2, "64")
        self.page.wait("document.querySelector('.line[data-index=\"1\"] .cell:nth-child(3).flash')", timeout=1)
        self.assertEqual(self.page.count(".cell.flash"), 1)
        self.assertEqual(self.page.run("[...document.querySelectorAll('.line')].filter((one) => !one.isOld).map((one) => one.dataset.index)"), ["1"])
        self.picture("live-flash")
        self.page.wait("!document.querySelector('.flash')", timeout=3)

    def test_rows_out_of_sight_are_read_again_when_they_come_into_sight(self):
        self.go("#/table/Task", ".line:not(.waiting)")
        self.page.wait("document.querySelector('.dot.on')")
        self.page.run("document.querySelector('.grid').scrollTop = 9000")
        self.page.wait("document.querySelector('.line[data-key=\"305\"]')")
        self.commit("UPDATE Task SET title = 'Changed above' WHERE id = ?", [2], "Task", 2)
        self.commit("UPDATE Task SET title = 'Changed here' WHERE id = ?", [306], "Task", 306)
        self.page.wait("document.querySelector('.line[data-key=\"306\"] .cell:nth-child(2)')?.innerText === 'Changed here'")
        for _ in range(10):
            self.page.run("document.querySelector('.grid').scrollTop -= 1000")
            time.sleep(.05)
        self.page.run("document.querySelector('.grid').scrollTop = 0")
        self.page.wait("document.querySelector('.line[data-key=\"2\"] .cell:nth-child(2)')?.innerText === 'Changed above'")
        self.page.wait("document.querySelector('.line[data-key=\"2\"]')?.dataset.index === '1'")
        self.page.wait("document.querySelector('#position').innerText === '600 rows'")

    def test_a_page_that_was_hidden_catches_up(self):
        hide = "Object.defineProperty(document, 'hidden', { get: () => %s, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))"
        self.go("#/table/Task", ".line:not(.waiting)")
        self.page.wait("document.querySelector('.dot.on')")
        self.page.run(hide % "true")
        self.commit("UPDATE Task SET title = 'while hidden' WHERE id = ?", [3], "Task", 3)
        time.sleep(.2)
        self.assertNotEqual(self.cell(2, 1), "while hidden")
        self.page.run(hide % "false")
        self.wait_cell(2, 1, "while hidden")

    def test_a_fast_writer_is_followed(self):
        self.go("#/table/Task", ".line:not(.waiting)")
        self.page.wait("document.querySelector('.dot.on')")
        for number in range(300):
            self.commit("UPDATE Task SET title = ? WHERE id = 1", [f"state {number}"], "Task", 1)
        self.page.wait("document.querySelector('.line[data-index=\"0\"] .cell:nth-child(2)')?.innerText === 'state 299'", timeout=3)
        asked = sum("/api/rows" in one for one in self.page.requests)
        self.assertLess(asked, 150, "changes that come together are read together")

    def test_counts_move_and_the_feed_links_to_rows(self):
        self.view("live")
        self.page.wait("document.querySelector('.dot.on')")
        self.commit("INSERT INTO Department (name, city) VALUES (?, 'Rome')", [f"New {time.monotonic()}"], "Department", 0, "insert")
        newest = self.database.value("SELECT max(id) FROM Department")
        self.page.wait("!!document.querySelector('#feed li .keys a[href=\"#/table/Department/%s\"]')" % newest)
        self.page.wait("document.querySelector('#tables a[data-table=Department] .count').innerText === '4'")
        self.commit(f"DELETE FROM Department WHERE id = {newest}", [], "Department", newest, "delete")
        self.page.wait("document.querySelector('#tables a[data-table=Department] .count').innerText === '3'")

    def test_an_open_row_follows(self):
        self.view("row")
        self.page.wait("document.querySelector('.dot.on')")
        self.commit("UPDATE Person SET note = 'seen live' WHERE id = ?", [5], "Person", 5)
        self.page.wait("document.querySelector('dd.flash')?.innerText === 'seen live'")


class TimeTests(PageCase):
    def test_a_commit_shows_what_it_changed(self):
        self.commit("UPDATE Person SET height = 1.99 WHERE id = ?", [11], "Person", 11)
        self.view("time")
        self.page.wait("document.querySelector('#commit .is')?.innerText === '1.99'")
        self.assertIn("these are of the newest commit", self.page.text("#commit"))
        self.commit("UPDATE Person SET height = 1.61 WHERE id = ?", [11], "Person", 11)
        self.page.wait("document.querySelector('.commits button').dataset.commit > document.querySelector('[aria-current=true][data-commit]').dataset.commit")
        self.page.click(".commits button")
        self.page.wait("document.querySelector('#commit .is')?.innerText === '1.61'")

    @needs_double("commits faster than it answers")
    def test_no_commit_is_left_out_beside_a_fast_writer(self):
        self.view("time")
        newest = self.commit_often()
        self.page.wait(f"Number(document.querySelector('.commits button').dataset.commit) === {newest}")
        shown = self.page.run("[...document.querySelectorAll('.commits [data-commit]')].map((one) => Number(one.dataset.commit))")
        self.assertEqual(shown, list(range(newest, newest - len(shown), -1)))

    def commit_often(self):
        with self.database.lock:
            for number in range(150):
                self.commit("UPDATE Person SET age = ? WHERE id = ?", [number, 12], "Person", 12)
        return len(self.database.made)

    @needs_double("commits faster than it answers, late on demand")
    def test_no_commit_is_left_out_when_the_list_begins_anew_before_older_ones_arrive(self):
        self.commit_often()
        self.view("time")
        self.database.trouble["commits"] = {"delay": 1.5}
        self.page.run("document.querySelector('#older').click()")
        time.sleep(.3)  # Until the server waits.
        self.database.trouble.clear()
        newest = self.commit_often()
        self.page.wait(f"Number(document.querySelector('.commits button').dataset.commit) === {newest}")
        self.page.wait("performance.getEntriesByType('resource').some((one) => one.name.includes('commits?before='))")
        shown = self.page.run("new Promise((done) => setTimeout(() => done([...document.querySelectorAll('.commits [data-commit]')].map((one) => Number(one.dataset.commit))), 50))")
        self.assertEqual(shown, list(range(newest, newest - len(shown), -1)))

    @needs_double("commits faster than it answers")
    def test_a_key_leaves_the_chosen_commit_that_the_list_has_not(self):
        chosen = self.commit_often()
        self.view("time")
        self.page.wait(f"document.querySelector('#commit h2')?.innerText.startsWith('Commit {chosen:,}')")
        newest = self.commit_often()
        self.page.wait(f"Number(document.querySelector('.commits button').dataset.commit) === {newest}")
        self.page.run("document.querySelector('.commits button').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }))")
        self.assertEqual(self.page.count(".commits [aria-current]"), 0)
        self.assertIn(f"Commit {chosen:,}", self.page.text("#commit"))


@needs_double("faults and waits on demand")
class TroubleTests(PageCase):
    def test_a_failing_server_is_reported_and_asked_again(self):
        self.database.trouble["storage"] = {"fail": "Page 17 has a wrong checksum."}
        self.go("#/storage", ".problem")
        self.assertIn("Page 17 has a wrong checksum", self.page.text())
        self.database.trouble.clear()
        self.page.click(".state button")
        self.page.wait("document.querySelector('svg.treemap')")

    def test_an_export_that_fails_says_why(self):
        self.database.trouble["export"] = {"fail": "The export has more than 256 MiB."}
        self.view("grid")
        self.page.click("a[download]")
        self.page.wait("document.querySelector('.filter-problem .problem')?.innerText.includes('more than 256 MiB')")
        self.page.logged.clear()  # The browser's own line about the status.
        self.database.trouble.clear()
        self.page.run("window.saved = []; URL.createObjectURL = (blob) => { window.saved.push(blob.size); return 'data:,'; }")
        self.page.click("a[download]")
        self.page.wait("window.saved.length === 1 && window.saved[0] > 1000")

    def test_slow_answers_move_nothing_that_is_there(self):
        self.database.trouble |= {"rows": {"delay": .3}, "row": {"delay": .3}, "storage": {"delay": .3}}
        self.view("tables")
        shift = self.page.run("""new Promise((done) => { let sum = 0;
            new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value; }).observe({ type: 'layout-shift' });
            location.hash = '#/table/Person'; setTimeout(() => { location.hash = '#/table/Task'; }, 700); setTimeout(() => done(sum), 1400); })""")
        self.assertLess(shift, .01)

    def test_a_long_sort_says_so_and_can_be_cancelled(self):
        self.database.trouble["rows"] = {"delay": 3}
        self.go("#/table/Reading?order=value%20ASC", "#stop-rows")
        self.assertIn("Sorting by value", self.page.text(".grid-note"))
        self.picture("sort-light")
        self.page.click("#stop-rows")
        self.page.wait("document.querySelector('.grid-note').innerText.includes('Cancelled')", timeout=1)
        self.assertEqual(self.page.text(".filter-problem"), "")
        self.database.trouble.clear()
        self.page.click(".grid-note button")
        self.page.wait("document.querySelector('.line:not(.waiting)')")

    def test_a_list_that_was_not_counted_says_why(self):
        self.page.run("""(() => { const get = window.fetch; window.fetch = async (path, more) => { const answer = await get(path, more);
            if (!String(path).includes('api/row?')) return answer;
            const row = await answer.json(); row.lists.forEach((list) => { list.count = null; list.exact = false; });
            window.fetch = get; return new Response(JSON.stringify(row)); }; })()""")
        self.view("row")
        self.assertIn("not counted: no index leads to them", self.page.text("summary"))

    def test_a_view_left_early_never_appears(self):
        self.database.trouble["storage"] = {"delay": .4}
        self.view("tables")
        self.page.run("location.hash = '#/storage'")
        time.sleep(.1)
        self.page.run("location.hash = '#/schema'")
        self.page.wait("document.querySelector('svg.diagram')")
        time.sleep(.5)
        self.assertEqual(self.page.text("h1"), "Schema")
        self.assertEqual(json.loads(self.page.run("JSON.stringify([...document.querySelectorAll('svg.treemap')].length)")), 0)
