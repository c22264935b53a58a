"""`mako studio` itself over the tables and rows of the double, for the same tests of the page: `run.py --program PATH`.

Two servers run: one that reads a file to which another process writes, `mako shell`, and one with `--write` on a file of its own.
"""

import csv
import json
import os
import re
import subprocess
import tempfile
import urllib.request

import mock
from mock import TABLES, quoted

# A million in a release build; a debug build takes a minute of processor time to import them.
READINGS = int(os.environ.get("READINGS", 200_000))
KINDS = {"int": "INTEGER", "text": "TEXT", "real": "REAL", "bool": "BOOL", "date": "DATE", "blob": "BLOB", "uuid": "UUID"}


def declared(column):
    if column["key"]:
        return f"{quoted(column['name'])} INTEGER PRIMARY KEY"
    kind = f"INTEGER REFERENCES {column['target']}" if column["target"] else KINDS.get(column["kind"], "TEXT")
    return f"{quoted(column['name'])} {kind}{'' if column['nullable'] else ' NOT NULL'}{' UNIQUE' if column['unique'] else ''}"


def literal(value, column=None):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if column and column["kind"] == "bool":
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else "'" + value.replace("'", "''") + "'"


def script(double):
    """The statements that make the double's small tables, those first that others refer to."""
    for name in ("Department", "Person", "Task", "Hostile", "Empty"):
        columns = TABLES[name][0]
        yield f"CREATE TABLE {name} ({', '.join(map(declared, columns))});"
        rows = double.sql.execute(f"SELECT * FROM {name}").fetchall()
        lines = [f"({', '.join(literal(value, column) for value, column in zip(row, columns))})" for row in rows]
        for first in range(0, len(lines), 50):
            yield f"INSERT INTO {name} VALUES {', '.join(lines[first:first + 50])};"


class Program:
    def __init__(self, path):
        self.path = os.path.abspath(path)

    def run(self, *arguments, text=None):
        done = subprocess.run([self.path, *arguments], input=text, capture_output=True, timeout=600, encoding="utf-8")
        if done.returncode != 0:
            raise AssertionError(f"mako {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def fill(self, file, readings):
        double = mock.Database(readings=0)
        self.run("shell", file, text="\n".join(["BEGIN;", *script(double), "COMMIT;"]))
        columns = [column["name"] for column in TABLES["Reading"][0]]
        with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as rows:
            writer = csv.writer(rows)
            writer.writerow(columns)
            for i in range(1, readings + 1):
                writer.writerow([i, f"sensor {i % 40}", (i * 37 % 1000) / 10, "2026-01-01 10:00:00"])
            rows.flush()
            self.run("import", rows.name, file, "--table", "Reading")
        self.run("history", file, "--keep", "1000")


class Server:
    """One `mako studio`, with what the tests use of the double: `value`, `change`, `commits`, `trouble`."""

    is_double = False
    readings = READINGS

    def __init__(self, program, file, writes):
        self.program, self.file = program, file
        self.trouble = {}
        self.memory = file + ".remembered"
        options = ["--write"] if writes else []
        self.process = subprocess.Popen([program.path, "studio", file, "--no-open", *options], stdout=subprocess.PIPE, encoding="utf-8",
                                        env=os.environ | {"MAKO_STUDIO": self.memory})
        self.link = next(found[0] for found in map(lambda line: re.search(r"http://\S+", line), self.process.stdout) if found)
        self.address = self.link.split("?")[0]
        request = urllib.request.build_opener(NoRedirect).open(self.link)
        self.cookie = request.headers["Set-Cookie"].split(";")[0]
        self.shell = None

    def enter(self, page):
        """Gives the browser the cookie of the link, which works once."""
        name, value = self.cookie.split("=")
        page.send("Network.setCookie", name=name, value=value, url=self.address, sameSite="Strict", httpOnly=True)

    def get(self, path):
        with urllib.request.urlopen(urllib.request.Request(f"{self.address}api/{path}", headers={"Cookie": self.cookie}), timeout=30) as answer:
            return json.load(answer)

    def forget(self):
        """Removes what the pages of earlier tests had remembered."""
        if os.path.exists(self.memory):
            os.remove(self.memory)

    def value(self, statement):
        """The first value of the first row, read by a process of its own."""
        rows = json.loads(self.program.run("query", self.file, statement, "--format", "json"))
        return next(iter(rows[0].values())) if rows else None

    def commits(self):
        return self.get("schema")["commit"]

    def has_changes(self):
        """Whether the process that writes has changed a row."""
        return self.shell is not None

    def change(self, statement, values):
        """Runs a statement in the process that writes, and waits for its answer."""
        parts = statement.split("?")
        text = "".join(part + (literal(value) if n < len(values) else "") for n, (part, value) in enumerate(zip(parts, [*values, None])))
        if self.shell is None:
            self.shell = subprocess.Popen([self.program.path, "shell", self.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        self.shell.stdin.write(text + ";\n")
        self.shell.stdin.flush()
        said = self.shell.stdout.readline()
        if "changed" not in said:
            raise AssertionError(f"{text}: {said}")

    def stop(self):
        if self.shell:
            self.shell.stdin.close()
            self.shell.wait(30)
            self.shell.stdout.close()
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def http_error_303(self, request, answer, *_):
        return answer


class Servers:
    def __init__(self, path):
        program = Program(path)
        self.folder = tempfile.TemporaryDirectory(prefix="mako-studio-")
        self.running = {}
        self.files = {writes: os.path.join(self.folder.name, folder, "example.mako") for writes, folder in ((False, "read"), (True, "write"))}
        for writes, file in self.files.items():
            os.makedirs(os.path.dirname(file))
            program.fill(file, 100 if writes else READINGS)
        self.program = program

    def server(self, writes):
        if writes not in self.running:
            self.running[writes] = Server(self.program, self.files[writes], writes)
        return self.running[writes]

    def stop(self):
        for server in self.running.values():
            server.stop()
        self.folder.cleanup()
