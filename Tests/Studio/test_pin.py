"""The pinned commit beside the present, storage and schema."""

from support import PageCase, needs_double


class PinTests(PageCase):
    def setUp(self):
        super().setUp()
        self.view("tables")
        self.page.wait("document.querySelector('.dot.on')")
        self.page.click("#pin")
        self.page.wait("document.querySelector('#pin').dataset.pinned === 'true'")

    def tearDown(self):
        if self.page.run("document.querySelector('#pin').dataset.pinned === 'true'"):
            self.page.click("#pin")
            self.page.wait("document.querySelector('#pin').dataset.pinned === 'false'")
        super().tearDown()

    def pin_again(self):
        for pinned in ("false", "true"):
            self.page.click("#pin")
            self.page.wait(f"document.querySelector('#pin').dataset.pinned === '{pinned}'")

    def test_a_grid_shows_what_differs_from_the_pinned_commit(self):
        self.commit("INSERT INTO Person (id, name, age, isAdmin) VALUES (?, 'Zoe', 30, false)", [0], "Person", 0, "insert")
        self.pin_again()
        self.view("grid")
        self.assertEqual(self.page.count(".differs, .gone"), 0)
        self.commit("DELETE FROM Person WHERE id = ?", [0], "Person", 0, "delete")
        self.page.wait("document.querySelector('.gone')?.dataset.key === '0'")
        self.commit("UPDATE Person SET age = 62 WHERE id = ?", [7], "Person", 7)
        self.page.wait("document.querySelector('.line[data-key=\"7\"] .differs')?.innerText.includes('62')")
        self.assertIn("61", self.page.text(".line[data-key='7'] .differs .was"))
        self.assertEqual(self.page.count(".differs"), 1)
        self.pictures("pin-grid")
        self.commit("UPDATE Person SET age = 61 WHERE id = ?", [7], "Person", 7)
        self.page.wait("!document.querySelector('.differs')")

    def test_deleted_rows_stay_in_the_grid_at_their_places(self):
        self.commit("INSERT INTO Department VALUES (?, 'Hulls', 'Kiel')", [8], "Department", 8, "insert")
        self.pin_again()
        self.go("#/table/Department", ".line:not(.waiting)")
        self.commit("INSERT INTO Department VALUES (?, 'Ropes', 'Kiel')", [9], "Department", 9, "insert")
        self.commit("DELETE FROM Department WHERE id = ?", [8], "Department", 8, "delete")
        self.page.wait("document.querySelector('.line.gone')")
        self.assertEqual([self.page.run(f"document.querySelector('.line[data-index=\"{n}\"]').dataset.key") for n in range(5)], ["1", "2", "3", "8", "9"])
        self.assertIn("Hulls", self.page.text(".line.gone"))
        self.page.wait("document.querySelector('#position').innerText === '4 rows, and 1 deleted'")
        self.pictures("pin-deleted")
        self.page.run("document.querySelector('.grid').focus()")
        for _ in range(3):
            self.page.press("ArrowDown")
        self.page.press("Enter")
        self.page.wait("document.querySelector('.notice')?.innerText.includes('This row is gone')")
        self.commit("DELETE FROM Department WHERE id = ?", [9], "Department", 9, "delete")

    def test_a_row_shows_both_values_and_a_deleted_row_those_of_the_pin(self):
        self.commit("INSERT INTO Task VALUES (?, 'new since', 1, false, NULL)", [7001], "Task", 7001, "insert")
        self.go("#/table/Task/7001", "dl.properties dt")
        self.assertIn("not in the pinned commit", self.page.text())
        self.commit("DELETE FROM Task WHERE id = ?", [7001], "Task", 7001, "delete")
        self.commit("DELETE FROM Task WHERE id = ?", [600], "Task", 600, "delete")
        self.go("#/table/Task/600", ".notice")
        self.assertIn("This row is gone", self.page.text(".notice"))
        self.assertIn("Oil", self.page.text("h1"))
        self.commit("INSERT INTO Task VALUES (?, 'Oil, changed', 1, true, '2026-01-13')", [600], "Task", 600, "insert")
        self.go("#/table/Task/600", "dd.differs")
        self.picture("pin-row")
        self.commit("UPDATE Task SET title = 'Oil letters' WHERE id = ?", [600], "Task", 600)
        self.page.wait("!document.querySelector('dd.differs')")

    def test_a_commit_shows_the_pinned_value_beside_that_of_now(self):
        was = self.database.value("SELECT age FROM Person WHERE id = 20")
        self.commit("UPDATE Person SET age = 99 WHERE id = ?", [20], "Person", 20)
        self.view("time")
        self.page.wait("document.querySelector('#commit .is')?.innerText === '99'")
        self.assertEqual(self.page.text("#commit .was"), str(was))
        self.pictures("pin-time")
        self.commit("UPDATE Person SET age = ? WHERE id = 20", [was], "Person", 20)

    def test_a_release_ends_the_comparison(self):
        self.commit("UPDATE Person SET age = 98 WHERE id = ?", [21], "Person", 21)
        self.go("#/table/Person/21", "dd.differs")
        self.page.click("#pin")
        self.page.wait("document.querySelector('dl.properties') && !document.querySelector('.differs')")
        self.view("storage")
        self.assertNotIn("the pin of this page", self.page.text())


class StorageAndSchemaTests(PageCase):
    @needs_double("the sizes and the snapshot are made up")
    def test_the_oldest_snapshot_has_a_holder(self):
        self.view("storage")
        self.assertIn("oldest snapshot, of process 4711, for 12.5 s", self.page.text())

    def test_pages_are_counted_by_kind_and_fill(self):
        self.view("storage")
        self.page.click("#count-pages")
        self.page.wait("document.querySelector('.counting .muted')?.innerText.includes('pages counted')")
        self.assertRegex(self.page.text(), r"leaves\s+[\d,]+\s+[\d.]+ [KM]iB\s+\d\d %")
        self.page.wait("document.querySelector('#count-pages')")
        self.picture("pages-light")

    def test_sizes_are_areas_and_lines(self):
        self.view("storage")
        areas = self.page.run("[...document.querySelectorAll('.tile rect')].map((r) => r.width.baseVal.value * r.height.baseVal.value)")
        self.assertGreater(areas[0] / sum(areas), .6)

    def test_tables_and_references_are_drawn(self):
        self.view("schema")
        self.assertEqual(self.page.count("svg .box"), 6)
        self.assertEqual(self.page.count("svg .edge"), 3)
        self.page.click("svg .box[aria-label^=Department] rect")
        self.page.wait("location.hash === '#/table/Department'")
