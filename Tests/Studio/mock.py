"""A double of Mako Studio's server for tests of the page alone: the same HTTP API over tables in SQLite's memory.

It serves the real assets under the real content security policy, and can do on demand what the real server does seldom: answer slowly, fail,
commit. `python3 mock.py` serves it until it is interrupted. `WAIT=0.5` lets each answer wait up to half a second after its work is done, so that events
overtake answers, as they may on a busy machine.
"""

import base64
import csv
import io
import json
import os
import queue
import random
import re
import sqlite3
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Sources/MakoStudio/Assets")
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

WAIT = float(os.environ.get("WAIT", 0))
PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAG0lEQVR4nGNgaPhPGhrVMKphVMOohlENQ0gDAFJ1/wGVbQ7MAAAAAElFTkSuQmCC")

HOSTILE = [
    "<script>window.pwned=1</script>", "<img src=x onerror='window.pwned=1'>", "\"><svg onload=window.pwned=1>", "javascript:window.pwned=1",
    "{{constructor.constructor('window.pwned=1')()}}", "a" * 20000, "abc\u202edef\u202c \u2066ghi\u2069", "\u0000\u0001\u001b[31mred\u007f", "line\nbreak\r\n\ttab",
    "مرحبا 123 שלום", "' OR 1=1 --", "&lt;b&gt;&amp;", "e\u0301" * 40, "👩‍👩‍👧‍👦 🏳️‍🌈", "\u200bzero\ufeffwidth", "../../etc/passwd", "__proto__",
]


def column(name, kind, detail, **more):
    return {"name": name, "kind": kind, "detail": detail, "numeric": kind in ("int", "real"), "nullable": True, "key": False,
            "unique": False, "target": None, **more}


KEY = column("id", "int", "integer", key=True, nullable=False)
TABLES = {
    "Person": ([KEY, column("name", "text", "text", nullable=False), column("age", "int", "integer"), column("height", "real", "double"),
                column("isAdmin", "bool", "bool", nullable=False), column("born", "date", "date"), column("department", "link", "reference", target="Department"),
                column("note", "text", "text"), column("photo", "blob", "blob"), column("settings", "json", "json"), column("favourite", "color", "color"),
                column("home", "place", "place"), column("token", "uuid", "uuid")], [("Task.assignee", "Task", "assignee")]),
    "Department": ([KEY, column("name", "text", "text", nullable=False, unique=True), column("city", "text", "text")], [("Person.department", "Person", "department")]),
    "Task": ([KEY, column("title", "text", "text", nullable=False), column("assignee", "link", "reference", target="Person"),
              column("done", "bool", "bool", nullable=False), column("due", "date", "date")], []),
    "Reading": ([KEY, column("sensor", "text", "text"), column("value", "real", "double"), column("taken", "date", "date")], []),
    "Hostile": ([KEY, column("text", "text", "text"), column("data", "json", "json"), column("<b>bold</b>", "text", "text"), column("constructor", "text", "text"), column("__proto__", "text", "text"),
                 column("twin", "link", "reference", target="Hostile")], [("twins\u202e<i>", "Hostile", "twin")]),
    "Empty": ([KEY, column("name", "text", "text")], []),
}


class Database:
    """The tables, and a list of commits beside them."""

    is_double = True

    def __init__(self, readings=1_000_000, writable=True):
        self.lock = threading.RLock()
        self.sql = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self.writable, self.readings = writable, readings
        self.made, self.listeners, self.undo, self.saves = [], set(), None, 0
        self.pin = None  # The number of the pinned commit, and the rows changed since, as they were.
        self.trouble, self.memory = {}, {}
        for name, (columns, _) in TABLES.items():
            kinds = ", ".join(f'{quoted(c["name"])} {"INTEGER PRIMARY KEY" if c["key"] else ""}' for c in columns)
            self.sql.execute(f"CREATE TABLE {name} ({kinds})")
        self.fill(readings)
        self.counts = {name: self.sql.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES}

    def fill(self, readings):
        for number, (name, city) in enumerate([("Engines", "London"), ("Letters", "Paris"), ("Sails", "Bergen")], 1):
            self.sql.execute("INSERT INTO Department VALUES (?, ?, ?)", (number, name, city))
        first = ["Ada", "Bob", "Cleo", "Øyvind", "Dana", "Emil", "Faye", "Gus", "Hana", "Ivo", "Jun", "Kaya", "Lena", "Miro", "Noor", "Olaf"]
        for number in range(1, 241):
            name = first[(number - 1) % 16] + ("" if number <= 16 else f" {'ABCDEFGHIJKLMNOP'[number // 16]}.")
            self.sql.execute("INSERT INTO Person VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", (
                number, name, None if number % 7 == 3 else 20 + number * 13 % 50, None if number % 5 == 2 else round(1.5 + number % 50 / 100, 2),
                number % 4 == 1, f"19{40 + number % 60:02}-{number % 12 + 1:02}-{number % 28 + 1:02}", None if number % 9 == 3 else number % 3 + 1,
                [None, "", "works from home on Fridays", "100%"][number % 4], PICTURE if number % 3 else os.urandom(3000) if number % 2 else None,
                json.dumps({"theme": "dark", "pages": [1, number]}) if number % 2 else None, f"#{number * 70001 % 0xffffff:06x}",
                f"{51 + number % 10}.5, {number % 20}.25" if number % 3 else None, f"7f1e0000-0000-4000-8000-{number:012}"))
        for number in range(1, 601):
            self.sql.execute("INSERT INTO Task VALUES (?,?,?,?,?)", (
                number, f"{['Oil', 'Paint', 'Sort', 'Write to'][number % 4]} {['the engine', 'the mast', 'letters', 'the crew'][number // 4 % 4]}",
                number % 40 + 1, number % 3 == 0, f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}"))
        self.sql.execute("""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
            INSERT INTO Reading SELECT i, 'sensor ' || (i % 40), (i * 37 % 1000) / 10.0, '2026-01-01 10:00' FROM n""", (readings,))
        for number, text in enumerate(HOSTILE, 1):
            self.sql.execute("INSERT INTO Hostile VALUES (?,?,?,?,?,?,?)", (number, text, json.dumps({text[:200]: text[:200]}), text, text, text, 1))

    # Cells

    def cell(self, column, value, whole=False):
        if value is None:
            return None
        kind = column["kind"]
        if kind == "link":
            named = self.sql.execute(f'SELECT * FROM {column["target"]} WHERE id = ?', (value,)).fetchone()
            return {"kind": "link", "table": column["target"], "key": str(value), "name": named and str(named[1])[:200]}
        if isinstance(value, bytes):
            return {"kind": "blob", "size": len(value), "media": "image/png" if value.startswith(b"\x89PNG") else None}
        if kind == "bool":
            return {"kind": "bool", "text": "true" if value else "false"}
        text = f"{value:g}" if isinstance(value, float) else str(value)
        cell = {"kind": kind, "text": text if whole else text[:1000]}
        if len(text) > 1000 and not whole:
            cell |= {"cut": True, "length": len(text)}
        return cell

    def row(self, table, values, cursor):
        columns = TABLES[table][0]
        return {"key": str(values[0]), "cursor": str(cursor), "cells": [self.cell(c, v) for c, v in zip(columns, values)]} | self.differing(table, values)

    def differing(self, table, values):
        """What differs from the pinned commit."""
        changed = self.pin[1] if self.pin else {}
        if (table, str(values[0])) not in changed:
            return {}
        before = changed[table, str(values[0])]
        if before is None:
            return {"change": "insert"}
        was = {c["name"]: self.cell(c, old) for c, old, new in zip(TABLES[table][0], before, values) if old != new}
        return {"change": "update", "was": was} if was else {}

    def gone(self, table, shown, isStart, isEnd):
        """The rows that were deleted since the pinned commit, at their places among rows by key."""
        low = -1 if isStart else shown[0][0] if shown else 1 << 60
        high = 1 << 60 if isEnd else shown[-1][0] if shown else -1
        deleted = [values for (name, key), values in (self.pin[1] if self.pin else {}).items() if name == table and values and low < values[0] < high
                   and not self.sql.execute(f"SELECT 1 FROM {table} WHERE id = ?", (key,)).fetchone()]
        rows = [self.row(table, values, values[0]) for values in shown] + [
            {"key": str(values[0]), "cursor": str(values[0]), "change": "delete", "cells": [self.cell(c, v) for c, v in zip(TABLES[table][0], values)]} for values in deleted]
        return sorted(rows, key=lambda row: int(row["key"]))

    def forget(self):
        """Removes what the pages of earlier tests had remembered."""
        self.memory.clear()

    def pinned(self):
        return self.pin and {"commit": self.pin[0], "age": 0.5}

    def select(self, table, where, order, after=None, before=None, at=None, limit=100):
        """Rows by key where no order is given, else by their place."""
        where = f"({where})" if where else "1"
        total = self.counts[table] if where == "1" else self.sql.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]
        if order or where != "1":
            start = int(after) + 1 if after else max(0, int(before) - limit) if before else 0
            many = min(limit, int(before) - start) if before else limit
            rows = self.sql.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY {order or 'id'} LIMIT {many} OFFSET {start}").fetchall()
            return {"rows": [self.row(table, values, start + n) for n, values in enumerate(rows)], "start": start == 0,
                    "end": start + len(rows) >= total} | ({} if where != "1" else {"total": total, "exact": True})
        first, last = self.sql.execute(f"SELECT (SELECT min(id) FROM {table}), (SELECT max(id) FROM {table})").fetchone()
        if first is None:
            return {"rows": self.gone(table, [], True, True), "start": True, "end": True, "total": 0, "exact": True}
        if before or (at and float(at) >= 1):
            rows = self.sql.execute(f"SELECT * FROM {table} WHERE id < ? ORDER BY id DESC LIMIT {limit}", (int(before) if before else last + 1,)).fetchall()[::-1]
        else:
            low = int(after) + 1 if after else first + int(float(at or 0) * (last - first))
            rows = self.sql.execute(f"SELECT * FROM {table} WHERE id >= ? ORDER BY id LIMIT {limit}", (low,)).fetchall()
        start, end = not rows or rows[0][0] == first, not rows or rows[-1][0] == last
        return {"rows": self.gone(table, rows, start, end), "start": start, "end": end, "total": total, "exact": True}

    # Changes

    def change(self, statement, values, table, key, kind, before):
        with self.lock:
            cursor = self.sql.execute(statement, values)
            key = key or str(cursor.lastrowid)
            after = self.sql.execute(f"SELECT * FROM {table} WHERE id = ?", (key,)).fetchone()
            self.counts[table] += {"insert": 1, "delete": -1}.get(kind, 0)
            changed = [c["name"] for n, c in enumerate(TABLES[table][0]) if not before or not after or before[n] != after[n]]
            if self.pin:
                self.pin[1].setdefault((table, str(key)), before)
            number = len(self.made) + 1
            self.made.append({"commit": number, "date": f"2026-11-27 10:{number % 60:02}:00", "changes": [
                {"table": table, "key": key, "kind": kind, "columns": changed}], "rows": 1, "tables": [table]})
            event = {"commit": number, "date": self.made[-1]["date"], "counts": dict(self.counts), "tables": {table: [key]}}
            for listener in list(self.listeners):
                listener.put(event)
            return key

    def value(self, statement):
        """The first value of the first row."""
        row = self.sql.execute(statement).fetchone()
        return row and row[0]

    def commits(self):
        return len(self.made)

    def has_changes(self):
        return bool(self.made)

    def preview(self, change):
        """The statement of a change, whose values fit their columns."""
        for name, value in change.get("values", {}).items():
            described = next(c for c in TABLES[change["table"]][0] if c["name"] == name)
            if value is not None and described["kind"] in ("int", "link") and not re.fullmatch(r"-?\d+", value):
                raise Failure(f"'{value}' is no {described['detail']}, which {name} holds.")
        if change.get("was"):
            now = self.sql.execute(f"SELECT * FROM {change['table']} WHERE id = ?", (change["key"],)).fetchone()
            for described, value in zip(TABLES[change["table"]][0], now):
                cell = self.cell(described, value, True) or {}
                if change["was"].get(described["name"], shown := cell.get("key", cell.get("text"))) != shown:
                    raise Failure(f"{described['name']} was changed since this page read the row: it is {shown} now.", 409)
        return statement_of(change)

    def save(self, change):
        table, key, kind = change["table"], change.get("key"), change["kind"]
        before = self.sql.execute(f"SELECT * FROM {table} WHERE id = ?", (key,)).fetchone() if key else None
        values = change.get("values", {})
        shown = self.preview(change)
        for name, value in values.items():
            described = next(c for c in TABLES[table][0] if c["name"] == name)
            if described["kind"] == "bool" and value is not None:
                values[name] = value == "true"
        if kind == "insert":
            names = list(values) or ["id"]
            key = self.change(f"INSERT INTO {table} ({', '.join(map(quoted, names))}) VALUES ({', '.join('?' * len(names))})",
                              [values.get(name) for name in names], table, None, kind, None)
            self.undo = (f"DELETE FROM {table} WHERE id = {key}", [], table, key, "delete")
        elif kind == "update":
            self.change(f"UPDATE {table} SET {', '.join(quoted(n) + ' = ?' for n in values)} WHERE id = ?", [*values.values(), key], table, key, kind, before)
            names = [c["name"] for c in TABLES[table][0]]
            self.undo = (f"UPDATE {table} SET {', '.join(quoted(n) + ' = ?' for n in names)} WHERE id = {key}", list(before), table, key, "update")
        else:
            self.change(f"DELETE FROM {table} WHERE id = ?", [key], table, key, kind, before)
            self.undo = (f"INSERT INTO {table} VALUES ({', '.join('?' * len(before))})", list(before), table, key, "insert")
        self.saves += 1
        return {"statement": shown, "save": self.saves, "key": key}

    def take_back(self, save):
        if not self.undo:
            raise Failure("There is no save to undo.", 409)
        if save not in (None, self.saves):
            raise Failure("Another save followed: only the last one can be undone.", 409)
        statement, values, table, key, kind = self.undo
        before = self.sql.execute(f"SELECT * FROM {table} WHERE id = ?", (key,)).fetchone()
        self.undo = None
        self.change(statement, values, table, key, kind, before)
        return {"statement": statement}


class Failure(Exception):
    def __init__(self, message, status=400, **more):
        super().__init__(message)
        self.status, self.more = status, more


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def literal(value):
    if value is None:
        return "NULL"
    return value if re.fullmatch(r"-?\d+(\.\d+)?|true|false", value) else "'" + value.replace("'", "''") + "'"


def statement_of(change):
    values = change.get("values", {})
    if change["kind"] == "insert":
        return f"INSERT INTO {change['table']} ({', '.join(values)}) VALUES ({', '.join(map(literal, values.values()))})"
    if change["kind"] == "delete":
        return f"DELETE FROM {change['table']} WHERE id = {change['key']}"
    return f"UPDATE {change['table']} SET {', '.join(f'{n} = {literal(v)}' for n, v in values.items())} WHERE id = {change['key']}"


class Answers:
    """One method for each path of the API."""

    def __init__(self, database):
        self.database = database

    def schema(self, _):
        d = self.database
        tables = [{"name": name, "rows": d.counts[name], "exact": True, "bytes": 8192 + d.counts[name] * 70, "jumps": True,
                   "indexes": [{"name": f"{name}_name", "columns": [columns[1]["name"]], "unique": False, "bytes": 4096}] if d.counts[name] > 200 else [],
                   "columns": columns, "lists": [{"name": one[0], "table": one[1]} for one in lists]} for name, (columns, lists) in TABLES.items()]
        return {"file": "example.mako", "path": "/data/example.mako", "writable": d.writable, "encrypted": False, "history": True,
                "commit": len(d.made), "tables": tables, "pin": d.pinned()}

    def remembered(self, q):
        if "name" in q:
            self.database.memory[q["name"]] = q["value"]
        return self.database.memory

    def rows(self, q):
        return self.database.select(q["table"], q.get("where"), q.get("order"), q.get("after"), q.get("before"), q.get("at"), int(q.get("limit", 100)))

    def row(self, q):
        d, table = self.database, q["table"]
        values = d.sql.execute(f"SELECT * FROM {table} WHERE id = ?", (q["key"],)).fetchone()
        if values is None and d.pin and d.pin[1].get((table, q["key"])):
            values = d.pin[1][table, q["key"]]
            return {"name": str(values[1])[:200], "cells": [d.cell(c, v, True) for c, v in zip(TABLES[table][0], values)], "lists": [], "history": [], "change": "delete"}
        if values is None:
            raise Failure(f"There is no row {q['key']} in {table}.", 404)
        lists = [{"name": name, "table": other, "exact": True,
                  "count": d.sql.execute(f"SELECT count(*) FROM {other} WHERE {back} = ?", (int(q["key"]),)).fetchone()[0]} for name, other, back in TABLES[table][1]]
        history = [{"commit": c["commit"], "date": c["date"], "changed": one["columns"]} for c in d.made[::-1]
                   for one in c["changes"] if one["table"] == table and one["key"] == q["key"]]
        return {"name": str(values[1])[:200], "cells": [d.cell(c, v, True) for c, v in zip(TABLES[table][0], values)], "lists": lists, "history": history} | d.differing(table, values)

    def related(self, q):
        _, other, back = next(one for one in TABLES[q["table"]][1] if one[0] == q["list"])
        return self.database.select(other, f"{back} = {int(q['key'])}", None, q.get("after"), q.get("before"), None, int(q.get("limit", 100)))

    def query(self, q):
        if not re.match(r"\s*(SELECT|WITH)\b", q["text"], re.I):
            raise Failure("A query begins with SELECT.", position=0, advice="Changes are made in the grid, in write mode.")
        began = time.monotonic()
        cursor = self.database.sql.execute(q["text"])
        rows = cursor.fetchmany(1001)
        columns = [{"name": one[0], "kind": "text", "detail": "", "numeric": bool(rows) and isinstance(rows[0][n], (int, float))} for n, one in enumerate(cursor.description)]
        cells = [[self.database.cell({"kind": "int" if isinstance(v, int) else "real" if isinstance(v, float) else "text"}, v) for v in row] for row in rows[:1000]]
        return {"columns": columns, "rows": cells, "cut": len(rows) > 1000, "milliseconds": (time.monotonic() - began) * 1000}

    def explain(self, q):
        text = f"SELECT * FROM {q['table']} WHERE {q['text']}" if q.get("table") else q["text"]
        rows = self.database.sql.execute("EXPLAIN QUERY PLAN " + text).fetchall()
        return {"plan": {"name": "result", "detail": "", "rows": 12, "milliseconds": 1.25, "children": [
            {"name": "scan" if "SCAN" in one[3] else "search", "detail": one[3], "rows": 240, "estimate": 200, "milliseconds": 0.8, "children": []} for one in rows]},
            "advice": ["CREATE INDEX Person_age ON Person (age)"] if re.search(r"\bage\s*[<>=]", q["text"]) else []}

    def commits(self, q):
        before = int(q.get("before", 1 << 60))
        found = [{k: c[k] for k in ("commit", "date", "rows", "tables")} for c in self.database.made[::-1] if c["commit"] < before]
        return {"kept": True, "commits": found[:100], "end": len(found) <= 100}

    def commit(self, q):
        found = next((c for c in self.database.made if c["commit"] == int(q["number"])), None)
        if not found:
            raise Failure(f"Commit {q['number']} is not kept any more.", 404)
        return found | {"changes": [self.change(one) for one in found["changes"]], "cut": False, "pin": self.database.pinned()}

    def change(self, one):
        """The history holds the names of the columns; their values are those of now and of the pinned commit."""
        d, table = self.database, one["table"]
        now = d.sql.execute(f"SELECT * FROM {table} WHERE id = ?", (one["key"],)).fetchone()
        before = d.pin[1].get((table, one["key"]), now) if d.pin else None
        columns = []
        for n, described in enumerate(TABLES[table][0]):
            if described["name"] in one["columns"]:
                columns.append({"name": described["name"]} | ({"is": d.cell(described, now[n])} if now else {}) | ({"pinned": d.cell(described, before[n])} if before else {}))
        return one | {"columns": [c for c in columns if one["kind"] != "delete" or "pinned" in c]}

    def pin(self, _):
        d = self.database
        d.pin = (len(d.made), {})
        return d.pinned()

    def pages(self, q):
        total, first = 10_000, int(q.get("from", 0))
        end = min(total, first + 4096)
        counts = [{"kind": "leaf", "tree": "Reading", "pages": 3000, "used": 3000 * 3400}, {"kind": "inner", "tree": "Reading", "pages": 20, "used": 20 * 2000},
                  {"kind": "free", "pages": end - first - 3020}]
        return {"counts": counts, "next": end, "total": total, "end": end >= total}

    def storage(self, _):
        trees = []
        for name, many in self.database.counts.items():
            trees.append({"name": name, "kind": "table", "table": name, "bytes": 8192 + many * 70, "estimated": True})
            if many > 200:
                trees.append({"name": f"{name}.name", "kind": "index", "table": name, "bytes": 4096 + many * 22, "estimated": True})
        trees.append({"name": "catalogue", "kind": "other", "bytes": 16384, "estimated": True})
        size = sum(one["bytes"] for one in trees)
        return {"size": size + 2_000_000, "pageSize": 4096, "free": 2_000_000, "trees": trees, "log": {"bytes": 409600, "files": 1},
                "pages": [{"kind": "in use", "count": size // 4096}, {"kind": "waiting", "count": 12}, {"kind": "free", "count": 488}], "snapshots": {"oldest": {"commit": 3, "age": 12.5, "holder": "process 4711"}}}

    def preview(self, q):
        return {"statement": self.database.preview(q)}

    def save(self, q):
        return self.database.save(q)

    def undo(self, q):
        return self.database.take_back(q.get("save"))

    def find(self, q):
        found = self.database.sql.execute(f"SELECT id, {quoted(TABLES[q['table']][0][1]['name'])} FROM {q['table']} WHERE "
                                          f"{quoted(TABLES[q['table']][0][1]['name'])} LIKE ? OR id = ? LIMIT 20", (q.get("text", "") + "%", q.get("text", ""))).fetchall()
        return {"rows": [{"key": str(key), "name": name} for key, name in found]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urlsplit(self.path)
        values = {name: one[0] for name, one in parse_qs(url.query).items()}
        if url.path == "/api/live":
            self.live()
        elif url.path in ("/api/blob", "/api/export"):
            self.download(url.path, values)
        elif url.path.startswith("/api/"):
            self.answer(url.path, values)
        else:
            self.asset(url.path)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(urlsplit(self.path).path, json.loads(body))

    def do_DELETE(self):
        if urlsplit(self.path).path == "/api/pin":
            self.server.database.pin = None
        self.send(200, "application/json", b"{}")

    def send(self, status, kind, body, **headers):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(body), "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff",
                            "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # The page went on.

    def answer(self, path, values):
        database = self.server.database
        name = path.removeprefix("/api/")
        trouble = database.trouble.get(name, {})
        time.sleep(trouble.get("delay", 0))
        try:
            if "fail" in trouble:
                raise Failure(trouble["fail"], 500)
            with database.lock:
                body, status = getattr(Answers(database), name)(values), 200
        except Failure as error:
            body, status = {"error": {"message": str(error), **error.more}}, error.status
        except sqlite3.Error as error:
            text = values.get("where") or values.get("text") or ""
            near = re.search(r'near "(.+?)"|no such column: (\S+)', str(error))
            word = near and (near[1] or near[2])
            body, status = {"error": {"message": f"{error}.", "position": text.find(word) if word and word in text else len(text)}}, 400
        time.sleep(random.random() * WAIT)
        self.send(status, "application/json", json.dumps(body).encode())

    def download(self, path, values):
        database = self.server.database
        if path == "/api/blob":
            value = database.sql.execute(f"SELECT {quoted(values['column'])} FROM {values['table']} WHERE id = ?", (values["key"],)).fetchone()[0]
            self.send(200, "image/png" if value.startswith(b"\x89PNG") else "application/octet-stream", value)
            return
        if "fail" in database.trouble.get("export", {}):
            self.send(413, "application/json", json.dumps({"error": {"message": database.trouble["export"]["fail"]}}).encode())
            return
        text = values.get("query") or f"SELECT * FROM {values['table']} WHERE {values.get('where') or 1} ORDER BY {values.get('order') or 1}"
        with database.lock:
            cursor = database.sql.execute(text)
            names, rows = [one[0] for one in cursor.description], cursor.fetchall()
        output = io.StringIO()
        if values["format"] == "csv":
            csv.writer(output).writerows([names, *rows])
        else:
            json.dump([dict(zip(names, row)) for row in rows], output, default=repr)
        self.send(200, "text/csv", output.getvalue().encode(), **{"Content-Disposition": "attachment"})

    def live(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        events = queue.Queue()
        self.server.database.listeners.add(events)
        try:
            self.wfile.write(b": hello\n\n")
            self.wfile.flush()
            while True:
                try:
                    event = events.get(timeout=5)
                    self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                except queue.Empty:
                    self.wfile.write(b": still here\n\n")
                self.wfile.flush()
        except OSError:
            pass
        finally:
            self.server.database.listeners.discard(events)

    def asset(self, path):
        name = "index.html" if path == "/" else path.lstrip("/")
        if not re.fullmatch(r"[a-z]+\.[a-z]+", name) or not os.path.exists(os.path.join(ASSETS, name)):
            self.send(404, "text/plain", b"no such file")
            return
        with open(os.path.join(ASSETS, name), "rb") as file:
            self.send(200, TYPES[os.path.splitext(name)[1]], file.read())


def serve(**options):
    """Starts the double; gives its address and its database."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # A connection that the browser closed.
    server.database = Database(**options)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/", server


if __name__ == "__main__":
    print(serve()[0], flush=True)
    threading.Event().wait()
