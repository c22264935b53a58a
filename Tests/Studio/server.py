#!/usr/bin/env python3
"""Tests of `mako studio` and `mako mcp` by real requests. MAKO names the program; Python's own library is all they need.

With PyPI's `mcp` installed, its client is tried, too.
"""

import asyncio
import contextlib
import http.client
import json
import os
import re
import subprocess
import tempfile
import time
import unittest
from urllib.parse import urlencode

MAKO = os.environ.get("MAKO", "mako")
SCRIPT = """
CREATE TABLE Team (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE Person (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, born DATE, photo BLOB, team INTEGER REFERENCES Team);
INSERT INTO Team VALUES (1, 'Engines'), (2, 'Sails');
INSERT INTO Person VALUES (1, 'Ada', 36, '1815-12-10', x'89504e470d0a1a0a', 1), (2, '', NULL, NULL, NULL, 1), (3, NULL, 20, NULL, NULL, 2);
"""


def mako(*arguments, text=None):
    done = subprocess.run([MAKO, *arguments], input=text, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Studio:
    """A running `mako studio`, and requests to it."""

    def __init__(self, file, *options):
        remembered = os.path.join(os.path.dirname(file), "remembered")
        self.process = subprocess.Popen([MAKO, "studio", file, "--no-open", *options], stdout=subprocess.PIPE, text=True, env=os.environ | {"MAKO_STUDIO": remembered})
        self.token, self.cookie = None, None
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", line)
            if found:
                self.port, self.token = int(found[1]), found[2]
                break

    def send(self, path, method="GET", body=None, cookie=True, address="127.0.0.1", **headers):
        connection = http.client.HTTPConnection(address, self.port, timeout=30)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if cookie and self.cookie:
            given["Cookie"] = self.cookie
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer, text

    def enter(self):
        answer, _ = self.send("/?token=" + self.token)
        self.cookie = answer.getheader("Set-Cookie").split(";")[0]
        return answer

    def get(self, name, **values):
        answer, text = self.send(f"/api/{name}?{urlencode(values)}")
        return answer.status, json.loads(text)

    def post(self, name, /, **values):
        origin = f"http://127.0.0.1:{self.port}"
        answer, text = self.send("/api/" + name, "POST", json.dumps(values), Origin=origin, Content_Type="application/json")
        return answer.status, json.loads(text)

    def delete(self, name):
        return self.send("/api/" + name, "DELETE", Origin=f"http://127.0.0.1:{self.port}")[0].status

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()


class StudioTestCase(unittest.TestCase):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "people.mako")
        mako("shell", cls.file, text=SCRIPT)
        cls.studio = Studio(cls.file, *cls.options)
        cls.entrance = cls.studio.enter()

    @classmethod
    def tearDownClass(cls):
        cls.studio.stop()
        cls.folder.cleanup()


class AccessTests(StudioTestCase):
    def test_the_token_is_exchanged_once_for_a_strict_cookie(self):
        cookie = self.entrance.getheader("Set-Cookie")
        self.assertEqual(self.entrance.status, 303)
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        self.assertEqual(self.studio.send("/?token=" + self.studio.token, cookie=False)[0].status, 401)
        self.assertEqual(self.studio.send("/api/schema", Cookie=f"mako-studio-{self.studio.port}={self.studio.token}", cookie=False)[0].status, 401)

    def test_nothing_is_answered_without_the_cookie(self):
        for path in ["/", "/app.js", "/api/schema", "/api/live", "/?token=" + "0" * 32]:
            self.assertEqual(self.studio.send(path, cookie=False)[0].status, 401, path)

    def test_a_foreign_host_is_refused(self):
        for host in ["example.com", f"example.com:{self.studio.port}", "127.0.0.1", "127.0.0.1:1"]:
            self.assertEqual(self.studio.send("/api/schema", Host=host)[0].status, 403, host)

    def test_other_sites_are_refused(self):
        self.assertEqual(self.studio.send("/api/schema", Sec_Fetch_Site="cross-site")[0].status, 403)
        self.assertEqual(self.studio.send("/api/schema", Sec_Fetch_Site="same-site")[0].status, 403)
        self.assertEqual(self.studio.send("/api/schema", Origin="http://evil.example")[0].status, 403)
        self.assertEqual(self.studio.send("/api/schema", Sec_Fetch_Site="same-origin")[0].status, 200)

    def test_a_write_says_where_it_comes_from_and_is_json(self):
        body = json.dumps({"text": "SELECT 1"})
        refused = self.studio.send("/api/query", "POST", body, Content_Type="application/json")
        self.assertEqual(refused[0].status, 403)
        origin = f"http://127.0.0.1:{self.studio.port}"
        refused = self.studio.send("/api/query", "POST", body, Origin=origin, Content_Type="text/plain")
        self.assertEqual(refused[0].status, 403)
        self.assertEqual(self.studio.post("query", text="SELECT 1")[0], 200)

    def test_every_answer_has_the_policy_and_none_has_cors(self):
        for path in ["/", "/api/schema", "/nothing"]:
            answer, _ = self.studio.send(path)
            self.assertTrue(answer.getheader("Content-Security-Policy").startswith("default-src 'none'"), path)
            self.assertEqual(answer.getheader("X-Content-Type-Options"), "nosniff")
            self.assertIsNone(answer.getheader("Access-Control-Allow-Origin"))

    def listening(self, table):
        with open(f"/proc/net/{table}") as file:
            found = [line.split()[1].split(":") for line in file if line.split()[3] == "0A"]
        return {address for address, port in found if port == f"{self.studio.port:04X}"}

    def test_only_loopback_listens(self):
        self.assertEqual(self.listening("tcp"), {"0100007F"})
        if os.path.exists("/proc/net/tcp6"):
            self.assertLessEqual(self.listening("tcp6"), {"00000000000000000000000001000000"})

    def test_the_ipv6_loopback_has_the_same_rules(self):
        port = self.studio.port
        try:
            answer, _ = self.studio.send("/api/schema", address="::1", Host=f"[::1]:{port}")
        except OSError:
            self.skipTest("no IPv6 loopback here")
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.studio.send("/api/schema", cookie=False, address="::1", Host=f"[::1]:{port}")[0].status, 401)
        for host in ["[::1]", "[::1]:1", f"[::2]:{port}", f"::1:{port}", f"[::ffff:127.0.0.1]:{port}", f"example.com:{port}"]:
            self.assertEqual(self.studio.send("/api/schema", address="::1", Host=host)[0].status, 403, host)
        self.assertEqual(self.studio.send("/api/schema", address="::1", Host=f"[::1]:{port}", Origin=f"http://[::1]:{port}")[0].status, 200)
        self.assertEqual(self.studio.send("/api/schema", address="::1", Host=f"[::1]:{port}", Origin=f"http://127.0.0.1:{port}")[0].status, 403)

    def test_statements_that_write_are_refused(self):
        for text in ["DELETE FROM Person", "UPDATE Person SET age = 1", "DROP TABLE Person", "INSERT INTO Team VALUES (9, 'x')"]:
            self.assertEqual(self.studio.post("query", text=text)[0], 400, text)
        self.assertEqual(self.studio.post("save", table="Person", kind="delete", key="1")[0], 405)
        self.assertEqual(self.studio.get("rows", table="Person")[1]["total"], 3)


class ViewTests(StudioTestCase):
    def test_the_schema_names_tables_columns_and_lists(self):
        _, schema = self.studio.get("schema")
        tables = {table["name"]: table for table in schema["tables"]}
        self.assertEqual([tables["Person"]["rows"], tables["Team"]["rows"]], [3, 2])
        self.assertEqual(tables["Team"]["lists"], [{"name": "Person.team", "table": "Person"}])
        self.assertEqual([column["kind"] for column in tables["Person"]["columns"]], ["int", "text", "int", "date", "blob", "link"])

    def test_cells_have_types_and_null_is_not_empty(self):
        _, page = self.studio.get("rows", table="Person")
        first, second, third = [row["cells"] for row in page["rows"]]
        self.assertEqual(first[5], {"kind": "link", "table": "Team", "key": "1", "name": "Engines"})
        self.assertEqual(first[4], {"kind": "blob", "size": 8, "media": "image/png"})
        self.assertEqual([second[1], third[1]], [{"kind": "text", "text": ""}, None])

    def test_pages_follow_each_other_in_any_order(self):
        for order in ["", "age", "age DESC", "name, age DESC", "team, name DESC", "length(name)"]:
            whole = [row["key"] for row in self.studio.get("rows", table="Person", order=order)[1]["rows"]]
            keys, cursor = [], None
            for _ in range(5):
                more = {"after": cursor} if cursor is not None else {}
                _, page = self.studio.get("rows", table="Person", order=order, limit=1, **more)
                keys += [row["key"] for row in page["rows"]]
                if page["end"]:
                    break
                cursor = page["rows"][-1]["cursor"]
            self.assertEqual(keys, whole, order)
            _, page = self.studio.get("rows", table="Person", order=order, limit=2, before=cursor)
            self.assertEqual([row["key"] for row in page["rows"]], whole[:1], order)

    def test_an_error_names_its_place(self):
        status, answer = self.studio.get("rows", table="Person", where="name = 'é' AND aeg > 3")
        self.assertEqual(status, 400)
        self.assertEqual(answer["error"]["position"], 15)

    def test_a_row_has_lists_with_counts(self):
        _, row = self.studio.get("row", table="Team", key="1")
        self.assertEqual(row["name"], "Engines")
        self.assertEqual(row["lists"], [{"name": "Person.team", "table": "Person", "count": 2, "exact": True}])
        _, page = self.studio.get("related", table="Team", key="1", list="Person.team")
        self.assertEqual([one["key"] for one in page["rows"]], ["1", "2"])

    def test_queries_plans_and_exports(self):
        _, answer = self.studio.post("query", text="SELECT name, age FROM Person WHERE age > 30")
        self.assertEqual(answer["rows"], [[{"kind": "text", "text": "Ada"}, {"kind": "int", "text": "36"}]])
        _, answer = self.studio.post("explain", text="SELECT * FROM Person WHERE age > 30", run=True)
        self.assertIn("rows", answer["plan"])
        self.assertEqual(answer["advice"], ["CREATE INDEX Person_age ON Person (age)"])
        _, text = self.studio.send("/api/export?" + urlencode({"table": "Team", "format": "csv"}))
        self.assertEqual(text.decode(), "id,name\n1,Engines\n2,Sails\n")

    def test_a_plan_names_the_indexes_that_its_scans_lack(self):
        def advice(text):
            return self.studio.post("explain", text=text, run=False)[1]["advice"]

        self.assertEqual(advice("SELECT * FROM Person WHERE id > 1"), [])
        self.assertEqual(advice("SELECT p.name FROM Person p JOIN Team t ON p.team = t.id WHERE p.age = 3 AND p.name > 'A' AND t.name = 'a.b'"),
                         ["CREATE INDEX Person_age_name ON Person (age, name)"])
        self.assertEqual(advice("SELECT name FROM Person WHERE team IN (SELECT id FROM Team WHERE name = 'x')"), ["CREATE INDEX Team_name ON Team (name)"])
        self.assertEqual(advice("SELECT * FROM Person WHERE name LIKE '%a'"), [])

    def test_a_long_query_is_cancelled(self):
        pairs = ", ".join(f"Person p{n}" for n in range(26))
        everyone = " + ".join(f"p{n}.id" for n in range(26))
        began = time.monotonic()
        status, _ = self.studio.post("query", text=f"SELECT count(*) FROM {pairs} WHERE {everyone} < 0")
        self.assertEqual(status, 408)
        self.assertLess(time.monotonic() - began, 20)

    def test_storage_and_commits_answer(self):
        storage = self.studio.get("storage")[1]
        self.assertGreater(storage["size"], 0)
        # Each tree is rounded up to whole pages.
        used = sum(page["count"] for page in storage["pages"] if page["kind"] == "in use")
        sizes = [tree["bytes"] for tree in storage["trees"]]
        self.assertLessEqual(sum(sizes), (used + len(sizes)) * storage["pageSize"])
        pages = self.studio.get("pages")[1]
        self.assertEqual(sum(one["pages"] for one in pages["counts"]), pages["total"])
        self.assertFalse(self.studio.get("commits")[1]["kept"])


class LiveTests(StudioTestCase):
    @contextlib.contextmanager
    def live(self, query=""):
        """The events of a page; each call of what is given waits for the next."""
        connection = http.client.HTTPConnection("127.0.0.1", self.studio.port, timeout=30)
        connection.request("GET", "/api/live" + query, headers={"Cookie": self.studio.cookie})
        answer = connection.getresponse()
        self.assertEqual(answer.readline(), b": hello\n")

        def event():
            line = b""
            while not line.startswith(b"data:"):
                line = answer.readline()
            return json.loads(line[5:])

        yield event
        connection.close()

    def test_a_commit_of_another_process_arrives(self):
        with self.live() as event:
            mako("query", self.file, "INSERT INTO Team VALUES (3, 'Letters')")
            found = event()
            self.assertEqual((found["counts"]["Team"], found["schema"]), (3, False))

    def test_a_new_table_is_told(self):
        with self.live() as event:
            mako("query", self.file, "CREATE TABLE Ship (id INTEGER PRIMARY KEY)")
            self.assertTrue(event()["schema"])

    def test_a_page_learns_what_was_committed_before_it_listened(self):
        seen = self.studio.get("schema")[1]["commit"]
        mako("query", self.file, "UPDATE Team SET name = 'Hulls' WHERE id = 2")
        with self.live(f"?since={seen}") as event:
            self.assertGreater(event()["commit"], seen)


class MemoryTests(StudioTestCase):
    def restarted(self, name):
        file = os.path.join(self.folder.name, name)
        if not os.path.exists(file):
            mako("shell", file, text=SCRIPT)
        studio = Studio(file)
        self.addCleanup(studio.stop)
        studio.enter()
        return studio

    def test_settings_outlast_the_server_for_its_database(self):
        self.assertEqual(self.studio.post("remembered", name="theme", value="dark")[0], 200)
        self.studio.post("remembered", name="tabs", value=[{"text": "SELECT 'é\n'"}])
        self.studio.post("remembered", name="tabs", value=[{"text": "SELECT 2"}])
        self.assertEqual(self.restarted("people.mako").get("remembered")[1], {"theme": "dark", "tabs": [{"text": "SELECT 2"}]})
        self.assertEqual(self.restarted("other.mako").get("remembered")[1], {"theme": "dark"})

    def test_the_file_is_for_its_owner_alone_and_bounded(self):
        file = os.path.join(self.folder.name, "remembered")
        self.studio.post("remembered", name="widths", value={"a": 1})
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        self.studio.post("remembered", name="widths", value="x" * 200_000)
        self.assertEqual(self.studio.get("remembered")[1]["widths"], {"a": 1})
        with open(file, "w") as out:
            out.write("[damaged")
        self.assertEqual(self.studio.get("remembered"), (200, {}))

    def test_a_foreign_page_cannot_change_it(self):
        body = json.dumps({"name": "tabs", "value": []})
        self.assertEqual(self.studio.send("/api/remembered", "POST", body, Origin="http://evil.example", Content_Type="application/json")[0].status, 403)


class PinTests(StudioTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        mako("history", cls.file, "--keep", "100")

    def test_rows_are_compared_with_the_pinned_commit(self):
        status, pin = self.studio.post("pin")
        self.assertEqual(status, 200)
        self.assertEqual(self.studio.get("schema")[1]["pin"]["commit"], pin["commit"])
        mako("query", self.file, "UPDATE Person SET age = 37 WHERE id = 1")
        mako("query", self.file, "INSERT INTO Person (id, name) VALUES (9, 'New')")
        mako("query", self.file, "DELETE FROM Person WHERE id = 3")
        rows = {row["key"]: row for row in self.studio.get("rows", table="Person")[1]["rows"]}
        self.assertEqual(rows["1"]["was"], {"age": {"kind": "int", "text": "36"}})
        self.assertNotIn("change", rows["2"])
        self.assertEqual(rows["9"]["change"], "insert")
        self.assertEqual(self.studio.get("row", table="Person", key="1")[1]["was"], {"age": {"kind": "int", "text": "36"}})
        gone = self.studio.get("row", table="Person", key="3")[1]
        self.assertEqual((gone["change"], gone["cells"][2]), ("delete", {"kind": "int", "text": "20"}))
        numbers = [one["commit"] for one in self.studio.get("commits")[1]["commits"]]
        deletion, insertion, update = (self.studio.get("commit", number=number)[1]["changes"][0] for number in numbers[:3])
        self.assertEqual(update["columns"], [{"name": "age", "is": {"kind": "int", "text": "37"}, "pinned": {"kind": "int", "text": "36"}}])
        self.assertNotIn("pinned", insertion["columns"][0])
        self.assertIn({"name": "age", "pinned": {"kind": "int", "text": "20"}}, deletion["columns"])
        oldest = self.studio.get("storage")[1]["snapshots"]["oldest"]
        self.assertEqual((oldest["commit"], oldest["holder"]), (pin["commit"], "the pin of this page"))
        self.assertEqual(self.studio.delete("pin"), 200)
        self.assertIsNone(self.studio.get("schema")[1]["pin"])
        self.assertNotIn("was", self.studio.get("row", table="Person", key="1")[1])
        self.assertEqual(self.studio.get("row", table="Person", key="3")[0], 404)

    def test_a_pin_outlasts_later_openings_of_the_file(self):
        _, pin = self.studio.post("pin")
        mako("query", self.file, "UPDATE Team SET name = 'Motors' WHERE id = 1")
        mako("query", self.file, "UPDATE Team SET name = 'Masts' WHERE id = 2")
        rows = self.studio.get("rows", table="Team")[1]["rows"]
        self.assertEqual([row["was"]["name"]["text"] for row in rows], ["Engines", "Sails"])
        self.studio.delete("pin")

    def pages(self, limit, backward=False, **values):
        """The rows of all pages, and the largest number of rows of one."""
        rows, cursor = [], {"at": 1} if backward else {}
        for _ in range(500):
            _, page = self.studio.get("rows", table="Item", limit=limit, **values, **cursor)
            self.assertLessEqual(len(page["rows"]), limit)
            rows = page["rows"] + rows if backward else rows + page["rows"]
            if page["start" if backward else "end"]:
                return rows
            cursor = {"before": rows[0]["cursor"]} if backward else {"after": rows[-1]["cursor"]}
        raise AssertionError("the pages have no end")

    def test_rows_deleted_since_stay_at_their_places_on_every_page(self):
        items = {n: (n % 7 if n % 5 else None, "abc"[n % 3]) for n in range(1, 61)}
        literal = ", ".join(f"({n}, {size if size is not None else 'NULL'}, '{name}')" for n, (size, name) in items.items())
        mako("shell", self.file, text=f"CREATE TABLE Item (id INTEGER PRIMARY KEY, size INTEGER, name TEXT);\nCREATE INDEX Item_size ON Item (size);\nINSERT INTO Item VALUES {literal};\n")
        self.studio.post("pin")
        mako("shell", self.file, text="DELETE FROM Item WHERE id BETWEEN 10 AND 19 OR id % 4 = 0 OR id > 57;\nUPDATE Item SET size = 3 WHERE id % 6 = 1;\n"
             "INSERT INTO Item VALUES (70, 2, 'b'), (71, NULL, 'a');\n")
        gone = {n for n in items if 10 <= n <= 19 or n % 4 == 0 or n > 57}
        now = {n: ((3 if n % 6 == 1 and n not in gone else size), name) for n, (size, name) in items.items()} | {70: (2, "b"), 71: (None, "a")}
        size = lambda n: -1 if now[n][0] is None else now[n][0]
        orders = {"": lambda n: n, "size": lambda n: (size(n), n), "size DESC": lambda n: (-size(n), n), "name, size DESC": lambda n: (now[n][1], -size(n), n)}
        for order, place in orders.items():
            for where, fits in (("", lambda n: True), ("name = 'b'", lambda n: now[n][1] == "b")):
                expected = [str(n) for n in sorted(now, key=place) if fits(n)]
                for limit in (1, 2, 7, 100):
                    for backward in (False, True):
                        rows = self.pages(limit, backward, order=order, where=where)
                        self.assertEqual([row["key"] for row in rows], expected, (order, where, limit, backward))
                self.assertEqual({int(row["key"]) for row in rows if row.get("change") == "delete"}, {n for n in gone if fits(n)})
        self.studio.delete("pin")

    def test_a_foreign_page_cannot_pin(self):
        body = json.dumps({})
        self.assertEqual(self.studio.send("/api/pin", "POST", body, Origin="http://evil.example", Content_Type="application/json")[0].status, 403)
        self.assertEqual(self.studio.send("/api/pin", "DELETE")[0].status, 403)

    def test_a_history_is_started_and_ended(self):
        self.assertIn("at most 100 commits", mako("history", self.file))
        self.assertTrue(self.studio.get("commits")[1]["kept"])


class WriteTests(StudioTestCase):
    options = ("--write",)

    def test_a_save_is_shown_made_and_taken_back(self):
        change = {"table": "Person", "kind": "update", "key": "1", "values": {"name": "O'Hara", "age": None}}
        statement = "UPDATE Person SET name = 'O''Hara', age = NULL WHERE id = 1"
        self.assertEqual(self.studio.post("preview", **change), (200, {"statement": statement}))
        self.assertEqual(self.studio.post("save", **change)[0], 200)
        self.assertEqual(self.studio.get("row", table="Person", key="1")[1]["name"], "O'Hara")
        self.assertEqual(self.studio.post("undo")[0], 200)
        self.assertEqual(self.studio.get("row", table="Person", key="1")[1]["name"], "Ada")
        self.assertEqual(self.studio.post("undo")[0], 409)

    def test_a_long_text_is_edited(self):
        shown = "A line of \"1 MiB\"\n" * 55_000
        self.assertEqual(self.studio.post("save", table="Person", kind="update", key="2", values={"name": shown})[0], 200)
        cell = self.studio.get("row", table="Person", key="2")[1]["cells"][1]
        self.assertEqual(cell["text"], shown)
        change = {"table": "Person", "kind": "update", "key": "2", "values": {"name": shown + "."}, "was": {"name": shown}}
        self.assertEqual(self.studio.post("save", **change)[0], 200)
        self.assertEqual(self.studio.post("undo")[0], 200)
        self.assertEqual(self.studio.get("row", table="Person", key="2")[1]["cells"][1], cell)

    def test_a_request_that_is_too_long_is_refused(self):
        origin = f"http://127.0.0.1:{self.studio.port}"
        answer, text = self.studio.send("/api/save", "POST", "", Origin=origin, Content_Type="application/json", Content_Length=str((4 << 20) + 1))
        self.assertEqual(answer.status, 413)
        self.assertIn("at most 4194304 bytes", json.loads(text)["error"]["message"])

    def test_rows_come_and_go(self):
        _, made = self.studio.post("save", table="Person", kind="insert", values={"name": "Bob"})
        self.assertEqual(self.studio.get("row", table="Person", key=made["key"])[0], 200)
        self.studio.post("undo")
        self.assertEqual(self.studio.get("row", table="Person", key=made["key"])[0], 404)
        self.studio.post("save", table="Person", kind="delete", key="3")
        self.studio.post("undo")
        self.assertEqual(self.studio.get("row", table="Person", key="3")[1]["cells"][2], {"kind": "int", "text": "20"})

    def test_what_does_not_fit_a_column_is_refused(self):
        status, answer = self.studio.post("save", table="Person", kind="update", key="1", values={"age": "old"})
        self.assertEqual(status, 400)
        self.assertIn("age", answer["error"]["message"])


class ToolTests(StudioTestCase):
    def test_tools_answer_lines(self):
        asked = [("initialize", {"protocolVersion": "2025-06-18"}), ("tools/list", {}),
                 ("tools/call", {"name": "query", "arguments": {"sql": "SELECT count(*) AS n FROM Person"}}),
                 ("tools/call", {"name": "query", "arguments": {"sql": "DELETE FROM Person"}}), ("nothing", {})]
        lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": name, "params": given}) for n, (name, given) in enumerate(asked)]
        answers = [json.loads(line) for line in mako("mcp", self.file, text="\n".join(lines) + "\n").splitlines()]
        self.assertEqual(answers[0]["result"]["serverInfo"]["name"], "mako")
        self.assertEqual([tool["name"] for tool in answers[1]["result"]["tools"]], ["schema", "query", "explain", "changes", "sample"])
        self.assertEqual(json.loads(answers[2]["result"]["content"][0]["text"])["rows"], [[{"kind": "int", "text": "3"}]])
        self.assertTrue(answers[3]["result"]["isError"])
        self.assertEqual(answers[4]["error"]["code"], -32601)

    def test_the_client_of_pypi_is_served(self):
        try:
            from mcp import ClientSession, StdioServerParameters
            from mcp.client.stdio import stdio_client
        except ImportError:
            self.skipTest("PyPI's mcp is not installed")

        async def talk():
            async with stdio_client(StdioServerParameters(command=MAKO, args=["mcp", self.file])) as (read, write):
                async with ClientSession(read, write) as session:
                    await session.initialize()
                    tools = await session.list_tools()
                    answer = await session.call_tool("sample", {"table": "Team", "where": "name LIKE 'S%'"})
                    return [tool.name for tool in tools.tools], json.loads(answer.content[0].text)

        names, answer = asyncio.run(talk())
        self.assertIn("schema", names)
        self.assertEqual([row["key"] for row in answer["rows"]], ["2"])


if __name__ == "__main__":
    unittest.main()
