"""The answers that the page needs from its server, as shapes, and a check of a running server against them.

A shape is a type, a tuple of alternatives, a list of one shape, or a dictionary; a name that ends in `?` may be absent.
"""

import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request

NUMBER = (int, float)
NONE = type(None)
CELL = (NONE, {"kind": str, "text?": str, "cut?": bool, "length?": int, "size?": int, "media?": (str, NONE), "encrypted?": bool,
               "table?": str, "key?": str, "name?": (str, NONE)})
COLUMN = {"name": str, "kind": str, "detail?": str, "numeric?": bool, "nullable?": bool, "key?": bool, "unique?": bool, "target?": (str, NONE)}
TABLE = {"name": str, "rows": int, "exact": bool, "bytes?": int, "jumps?": bool, "columns": [COLUMN], "lists?": [{"name": str, "table": str}],
         "indexes": [{"name": str, "columns": [str], "unique?": bool}]}
PIN = (NONE, {"commit": int, "age": NUMBER})
SCHEMA = {"file": str, "path?": str, "writable": bool, "encrypted?": bool, "history?": bool, "commit?": int, "tables": [TABLE], "pin": PIN}
CHANGED = {"change?": str, "was?": dict}
ROWS = {"rows": [{"key": str, "cursor": str, "cells": [CELL]} | CHANGED], "start": bool, "end": bool, "total?": int, "exact?": bool}
ROW = {"name?": (str, NONE), "cells": [CELL], "lists?": [{"name": str, "table": str, "count": int, "exact?": bool}],
       "history?": [{"commit": int, "date?": str, "kind?": str, "changed?": [str]}]} | CHANGED
RESULT = {"columns": [COLUMN], "rows": [[CELL]], "cut": bool, "milliseconds": NUMBER}
OPERATOR = {"name": str, "detail?": str, "rows?": (int, NONE), "examined?": (int, NONE), "estimate?": NUMBER + (NONE,), "milliseconds?": NUMBER + (NONE,)}
OPERATOR["children?"] = [OPERATOR]
PLAN = {"plan": OPERATOR, "advice?": [str]}
COMMITS = {"kept": bool, "advice?": str, "commits": [{"commit": int, "date?": str, "rows?": int, "tables?": [str]}], "end": bool}
COMMIT = {"commit": int, "date?": str, "cut": bool, "pin": PIN, "changes": [
    {"table": str, "key": str, "kind": str, "columns": [{"name": str, "pinned?": CELL, "is?": CELL}]}]}
STORAGE = {"size": int, "pageSize": int, "free?": int, "trees": [{"name": str, "kind": str, "table?": (str, NONE), "bytes": int, "estimated": bool}],
           "pages": [{"kind": str, "count": int}], "log": {"bytes": int, "files": int}, "snapshots": ({"oldest?": ({"commit": int, "age?": NUMBER, "holder?": str}, NONE)}, NONE)}
PAGES = {"counts": [{"kind": str, "pages": int, "tree?": str, "used?": int}], "next": int, "total": int, "end": bool}
FOUND = {"rows": [{"key": str, "name?": (str, NONE)}]}
ERROR = {"error": {"message": str, "position?": (int, NONE), "advice?": (str, NONE)}}


def differences(value, shape, place="answer"):
    """What of a value does not fit a shape, as sentences."""
    if isinstance(shape, tuple):
        found = [differences(value, one, place) for one in shape]
        return [] if any(not one for one in found) else min(found, key=len)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{place} is {value!r}, not a list"]
        return [line for number, one in enumerate(value) for line in differences(one, shape[0], f"{place}[{number}]")]
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{place} is {value!r}, not an object"]
        lines = []
        for name, inner in shape.items():
            bare = name.removesuffix("?")
            if bare in value:
                lines += differences(value[bare], inner, f"{place}.{bare}")
            elif bare == name:
                lines.append(f"{place}.{bare} is missing")
        return lines
    fits = isinstance(value, shape) and not (shape in (int, float) and isinstance(value, bool))
    return [] if fits else [f"{place} is {value!r}, not {shape.__name__}"]


class Server:
    """A server of the page, reached by the link that it printed, or by the cookie that the link was exchanged for."""

    def __init__(self, link, cookie=None):
        parts = urllib.parse.urlsplit(link)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        if cookie:
            self.opener.addheaders.append(("Cookie", cookie))
        else:
            self.opener.open(link).read()

    def answer(self, path, body=None, method=None, **values):
        """Status and JSON of one request."""
        values = {name: value for name, value in values.items() if value is not None}
        address = f"{self.origin}/api/{path}" + (f"?{urllib.parse.urlencode(values)}" if values else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, {"Content-Type": "application/json", "Origin": self.origin, "Sec-Fetch-Site": "same-origin"}, method=method)
        try:
            with self.opener.open(request, timeout=20) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


def check(server):
    """Requests one of everything that reads; returns what does not fit."""
    lines = []

    def ask(path, shape, body=None, expected=200, **values):
        status, answer = server.answer(path, body, **values)
        if status != expected and not (expected >= 400 and status >= 400):
            lines.append(f"{path} {values or body}: status {status}, {answer}")
            return {}
        lines.extend(f"{path}: {line}" for line in differences(answer, shape))
        return answer

    schema = ask("schema", SCHEMA)
    for table in schema.get("tables", []):
        name, columns = table["name"], len(table["columns"])
        page = ask("rows", ROWS, table=name, limit=10)
        rows = page.get("rows", [])
        if any(len(row["cells"]) != columns for row in rows):
            lines.append(f"rows of {name}: not {columns} cells")
        if len(rows) > 5:
            after = ask("rows", ROWS, table=name, limit=4, after=rows[1]["cursor"]).get("rows", [])
            before = ask("rows", ROWS, table=name, limit=2, before=rows[4]["cursor"]).get("rows", [])
            for what, found, wanted in (("after", after, rows[2:6]), ("before", before, rows[2:4])):
                if [row["key"] for row in found] != [row["key"] for row in wanted]:
                    lines.append(f"rows of {name} {what} a cursor: {[row['key'] for row in found]}")
        if rows:
            row = ask("row", ROW, table=name, key=rows[0]["key"])
            for one in row.get("lists", []):
                ask("related", ROWS, table=name, key=rows[0]["key"], list=one["name"], limit=5)
            ask("find", FOUND, table=name, text="a")
        if table.get("jumps") and rows and not ask("rows", ROWS, table=name, at=1, limit=5).get("end"):
            lines.append(f"rows of {name} at 1: not the end")
    if schema.get("tables"):
        first = '"' + schema["tables"][0]["name"].replace('"', '""') + '"'
        ask("query", RESULT, body={"text": f"SELECT * FROM {first} LIMIT 3", "id": "check"})
        ask("explain", PLAN, body={"text": f"SELECT * FROM {first} LIMIT 3", "run": True})
        ask("query", ERROR, body={"text": f"SELECT nonsense_here FROM {first}", "id": "check"}, expected=400)
        ask("rows", ERROR, table=schema["tables"][0]["name"], where="nonsense_here = 1", expected=400)
        ask("row", ERROR, table=schema["tables"][0]["name"], key="-987654", expected=404)
    commits = ask("commits", COMMITS, limit=5)
    for one in commits.get("commits", []):
        if not re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", one.get("date", "")):
            lines.append(f"commits: the date {one.get('date')}")
    if commits.get("commits"):
        ask("commit", COMMIT, number=commits["commits"][0]["commit"])
    ask("storage", STORAGE)
    first = ask("pages", PAGES)
    if sum(one["pages"] for one in first.get("counts", [])) != first.get("next"):
        lines.append(f"pages: {first} does not count every page")
    pin = ask("pin", PIN, body={})
    if ask("schema", SCHEMA).get("pin", {}).get("commit") != pin.get("commit"):
        lines.append("schema: not the pinned commit")
    for table in schema.get("tables", []):
        if any("change" in row for row in ask("rows", ROWS, table=table["name"], limit=5).get("rows", [])):
            lines.append(f"rows of {table['name']}: some differ from the commit pinned last")
    server.answer("pin", method="DELETE")
    if ask("schema", SCHEMA).get("pin"):
        lines.append("schema: a commit is pinned after its release")
    return lines
