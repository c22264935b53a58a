#!/usr/bin/env python3
"""Kills the processes of a mirror in PostgreSQL, over and over: `trial.py MAKO KILLRUNNER CYCLES [SEED]`.

KILLRUNNER commits random changes, `mako mirror` brings them to PostgreSQL, and at a random moment the writer, the mirror or all processes of PostgreSQL
are killed. What the database must have after each commit is in memory before the writer has confirmed it. After each kill the tables in PostgreSQL must equal
the commit that the mirror's token names, one that is not before the commit seen last; and the file has what was confirmed.

The environment names the server as `scripts/services` does: MAKO_POSTGRES, MAKO_POSTGRES_RESTART.
"""

import collections
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import model

SCHEMA = "live"
# Of Linux's prctl.
SET_CHILD_SUBREAPER = 36
# Fewer commits than some pauses of the mirror have, so that it must load all tables.
KEPT = 150
# The seconds of a cycle, after which something waits in vain.
LONGEST = 300
# Ends without an error at the first moment at which another client has a transaction open, or is at the end of one.
MOMENT = """
DO $$
BEGIN
    FOR place IN 1..1000 LOOP
        PERFORM pg_stat_clear_snapshot();
        IF EXISTS (SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND %s)
        THEN RETURN; END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
    RAISE EXCEPTION 'no step';
END $$
"""
STEP, STEP_END = "xact_start IS NOT NULL", "(query LIKE 'UPDATE%mako_mirror%' OR query = 'COMMIT' AND state = 'active')"
TABLES = f"SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = '{SCHEMA}' ORDER BY 1"
COLUMNS = f"""
SELECT json_build_array('column', table_name, column_name, data_type, is_nullable) FROM information_schema.columns
    WHERE table_schema = '{SCHEMA}' AND table_name NOT LIKE 'mako_mirror%'
"""
ROWS = f"""
SELECT format('SELECT json_build_array(''row'', %L, row_to_json(t)) FROM {SCHEMA}.%I t', tablename, tablename) FROM pg_tables
    WHERE schemaname = '{SCHEMA}' AND tablename NOT LIKE 'mako_mirror%'
"""


class Failure(Exception):
    pass


class Server:
    """PostgreSQL, by psql."""

    def __init__(self):
        self.url, self.restart = os.environ["MAKO_POSTGRES"], os.environ["MAKO_POSTGRES_RESTART"]
        # From now on it is a child of this process, which reaps what it kills: the first process of a container may not, and the server takes a
        # zombie for one that runs.
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)
        self.start()
        self.query(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")

    def psql(self, script):
        command = ["psql", self.url, "-XAtq", "-v", "ON_ERROR_STOP=1"]
        environment = os.environ | {"PGTZ": "UTC", "PGCLIENTENCODING": "UTF8"}
        return subprocess.run(command, input=script, capture_output=True, text=True, timeout=120, env=environment)

    def query(self, script):
        done = self.psql(script)
        if done.returncode != 0:
            raise Failure(f"psql: {done.stderr}")
        return done.stdout.split("\n")[:-1]

    def wait_for(self, moment):
        return self.psql(MOMENT.replace("%s", moment)).returncode == 0

    def kill(self):
        """Kills the server's process and all its children, so that nothing is written any more."""
        # Stopped, it starts no child that the list does not have.
        os.kill(self.pid, signal.SIGSTOP)
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        pids = [self.pid] + [int(line.split()[0]) for line in listed.splitlines() if int(line.split()[1]) == self.pid]
        for one in pids:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + 30
        while any(is_alive(one) for one in pids):
            if time.monotonic() > deadline:
                raise Failure(f"processes of PostgreSQL are left: {pids}")
            time.sleep(0.01)

    def start(self):
        subprocess.run(self.restart, shell=True, cwd="/", check=True, timeout=120)
        self.pid = int(self.query("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)")[0])

    def look(self):
        """Returns the commit of the token, and all tables with their columns and rows, as one transaction sees them; None before the first step."""
        for _ in range(100):
            names = self.query(TABLES)
            if "mako_mirror" not in names:
                return None, {}, {}
            # A table that is replaced meanwhile has no rows for a transaction that began before: the locks keep them all until its end, and come
            # before its snapshot.
            locks = ", ".join(f"{SCHEMA}.{name}" for name in names)
            script = f"BEGIN ISOLATION LEVEL REPEATABLE READ;\nLOCK TABLE {locks} IN ACCESS SHARE MODE;\n"
            script += f"{TABLES};\n\\echo -\nSELECT commit FROM {SCHEMA}.mako_mirror;\n{COLUMNS};\n{ROWS}\\gexec\nCOMMIT;\n"
            done = self.psql(script)
            # A table was dropped between the two scripts, or the mirror waits for a table that is locked here, while this waits for one of the mirror's.
            if done.returncode != 0 and ("does not exist" in done.stderr or "deadlock detected" in done.stderr):
                continue
            if done.returncode != 0:
                raise Failure(f"psql: {done.stderr}")
            lines = done.stdout.split("\n")[:-1]
            end = lines.index("-")
            if lines[:end] != names:
                continue
            columns, rows = collections.defaultdict(set), collections.defaultdict(list)
            for line in map(json.loads, lines[end + 2:]):
                if line[0] == "column":
                    columns[line[1]].add(tuple(line[2:]))
                else:
                    rows[line[1]].append(line[2])
            return int(lines[end + 1] or 0) or None, columns, rows
        raise Failure("the tables were never the same twice")


def is_alive(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Trial:
    def __init__(self, mako, runner, seed, folder):
        self.mako, self.runner, self.folder = mako, runner, folder
        self.file = os.path.join(folder, "written.mako")
        self.random = random.Random(seed)
        self.work = model.Work(seed + 1)
        self.server = Server()
        self.counts = collections.Counter()
        self.writer = self.mirror = None
        # The content at each commit, from the one that PostgreSQL showed last.
        self.models = {}
        self.run("shell", self.file, text=";\n".join(model.BEGINNING))
        self.run("history", self.file, "--keep", str(KEPT))
        self.newest = self.confirmed = self.committed()
        self.models[self.newest] = {"state": model.STATE}
        self.shown = None

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def run(self, *arguments, text=""):
        done = subprocess.run([self.mako, *arguments], input=text, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise Failure(f"mako {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def committed(self):
        """The newest commit of the file."""
        return int(re.search(r"^ *commit +([\d,]+)", self.run("info", self.file), re.M)[1].replace(",", ""))

    # The writer

    def start_writer(self):
        if self.writer is None:
            command = [self.runner, "commit", self.file]
            self.writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.is_open = False

    def hear(self, word):
        """Returns what the writer says after a word; None when it has ended before."""
        line = self.writer.stdout.readline()
        if not line:
            return None
        if not line.startswith(word):
            raise Failure(f"the writer says {line}")
        return line[len(word):].strip()

    def commit(self):
        """Has the writer commit one transaction. Returns whether it has confirmed it."""
        if not self.hear_opening():
            return False
        line, content = self.work.commit(self.models[self.newest])
        try:
            self.writer.stdin.write(json.dumps(line) + "\n")
            self.writer.stdin.flush()
        except BrokenPipeError:
            return False
        number = self.hear("commits ")
        if number is None:
            return False
        # Before the writer commits, or soon after: PostgreSQL is not looked at before its answer, or its death.
        self.newest = int(number)
        self.models[self.newest] = content
        if self.hear("committed") is None:
            return False
        self.confirmed = self.newest
        self.counts["commits"] += 1
        self.counts["added columns"] += "column" in line
        return True

    def hear_opening(self):
        """Forgets a commit that was lost. Returns whether the writer has opened the file."""
        if self.is_open:
            return True
        number = self.hear("opened ")
        if number is None:
            return False
        number = int(number)
        if number < max(self.confirmed, self.shown or 0):
            raise Failure(f"the file has commit {number}; {self.confirmed} was confirmed, PostgreSQL shows {self.shown}")
        if number < self.newest:
            self.counts["commits lost before they were confirmed"] += 1
            del self.models[self.newest]
        elif self.confirmed < self.newest:
            self.counts["commits found though not confirmed"] += 1
        self.newest = self.confirmed = max(self.models)
        self.is_open = True
        return True

    def end_writer(self, was_killed):
        process, self.writer = self.writer, None
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        text = process.stdout.read()
        process.stdout.close()
        status = process.wait(timeout=120)
        if status != (-signal.SIGKILL if was_killed else 0):
            raise Failure(f"the writer ended by itself with {status}: {text}")
        # A reader sees what was confirmed, also before the next writer has repaired the file.
        number = self.committed()
        if number < max(self.confirmed, self.shown or 0):
            raise Failure(f"a reader sees commit {number}; {self.confirmed} was confirmed, PostgreSQL shows {self.shown}")

    # The mirror

    def start_mirror(self):
        if self.mirror and self.mirror.poll() is not None:
            raise Failure(f"the mirror ended by itself with {self.mirror.poll()}: see {self.folder}/mirror.log")
        if self.mirror is None:
            reload = ["--reload"] if self.chance(8) else []
            command = [self.mako, "mirror", self.file, self.server.url, "--schema", SCHEMA, "--interval", "0.1", *reload]
            with open(os.path.join(self.folder, "mirror.log"), "a") as log:
                self.mirror = subprocess.Popen(command, stdout=log, stderr=log)

    def kill_mirror(self):
        status = self.mirror.poll()
        if status is not None:
            raise Failure(f"the mirror ended by itself with {status}: see {self.folder}/mirror.log")
        self.mirror.kill()
        self.mirror.wait()
        self.mirror = None

    def check(self):
        """Compares PostgreSQL with the commit of its token."""
        commit, columns, rows = self.server.look()
        if commit is None:
            if self.shown is not None or columns:
                raise Failure("the token is gone, or there are tables without one")
            return
        if commit < (self.shown or 0):
            raise Failure(f"PostgreSQL shows commit {commit} after {self.shown}")
        # A commit that the writer has not said is one of the store itself, after the last one that it said.
        last = max(number for number in self.models if number <= commit)
        wanted = self.models[last]
        if set(columns) != set(wanted):
            raise Failure(f"commit {commit}: the tables are {sorted(columns)}, not {sorted(wanted)}")
        for name, table in wanted.items():
            self.compare(commit, table, columns[name], rows[name])
        self.counts["commits shown"] += commit != self.shown
        self.counts["rows compared"] += sum(len(table.rows) for table in wanted.values())
        for number in [number for number in self.models if number < last]:
            del self.models[number]
        self.shown = commit

    def compare(self, commit, table, columns, rows):
        wanted = {(name, model.TYPES[kind], "NO" if name in table.keys else "YES") for name, kind in table.columns.items()}
        if columns != wanted:
            raise Failure(f"commit {commit}: the columns of {table.name} are {sorted(columns)}, not {sorted(wanted)}")
        found = {tuple(row[key] for key in table.keys): row for row in rows}
        different = [key for key in found.keys() | table.rows.keys() if found.get(key) != table.rows.get(key)]
        if different or len(found) != len(rows):
            raise Failure(
                f"commit {commit}: {len(different)} rows of {table.name} are different, and {len(rows) - len(found)} are there twice; the first is "
                f"{found.get(different[0]) if different else None}, not {table.rows.get(different[0]) if different else None}")

    # The cycles

    def cycle(self):
        self.start_writer()
        self.start_mirror()
        victim = self.random.choice(["writer", "mirror", "server"])
        delay, later = self.random.choice([0.2, 1, 1]) * self.random.random(), 10 ** self.random.uniform(-3, 0)
        moment = self.random.choice([STEP, STEP_END, None]) if victim != "writer" else None
        with_mirror, pauses = victim == "server" and self.chance(50), self.chance(10)
        killed, problems = threading.Event(), []

        def kill():
            try:
                time.sleep(delay)
                if moment and self.server.wait_for(moment):
                    self.counts["kills in a step of the mirror" if moment == STEP else "kills at the end of a step"] += 1
                    time.sleep(later if moment == STEP else 0)
                {"writer": self.writer.kill, "mirror": self.kill_mirror, "server": self.server.kill}[victim]()
                self.counts[f"kills of the {victim}"] += 1
                killed.set()
                # One that goes on waits longer after each attempt.
                if with_mirror:
                    self.kill_mirror()
                    self.counts["kills of the server with the mirror"] += 1
                if victim == "server":
                    self.server.start()
            except Exception as problem:
                problems.append(problem)
                killed.set()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        while not killed.is_set() and self.commit():
            pass
        killer.join()
        if problems:
            raise problems[0]
        self.check()
        if victim == "writer":
            self.end_writer(was_killed=True)
        elif self.writer.poll() is not None:
            self.end_writer(was_killed=False)
        if victim == "mirror" and pauses:
            for _ in range(KEPT + 10):
                if not self.commit():
                    self.end_writer(was_killed=False)

    def finish(self):
        """The mirror catches up with the last commit."""
        self.start_writer()
        self.start_mirror()
        if not self.commit():
            raise Failure("the last writer does not commit")
        self.end_writer(was_killed=False)
        last, deadline = self.committed(), time.monotonic() + 120
        while self.shown != last:
            if time.monotonic() > deadline:
                raise Failure(f"the mirror stays at commit {self.shown}; the file has {last}")
            time.sleep(0.2)
            self.check()
        self.kill_mirror()
        self.run("check", self.file)

    def end(self):
        for process in (self.writer, self.mirror):
            if process:
                process.kill()
                process.wait()

    def summary(self):
        with open(os.path.join(self.folder, "mirror.log")) as file:
            log = file.read()
        self.counts["steps of the mirror"] = log.count("PostgreSQL has commit") - log.count("nothing is new")
        self.counts["first loads"] = log.count("all tables were loaded, ") - log.count("so all tables were loaded, ")
        self.counts["loads because the history was gone"] = log.count("so all tables were loaded, ")
        self.counts["loads that were requested"] = log.count("all tables were loaded again, ")
        return ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))


def main(arguments):
    if len(arguments) not in (3, 4):
        print(__doc__.strip(), file=sys.stderr)
        return 64
    if not os.environ.get("MAKO_POSTGRES"):
        print("the kills of the mirror were skipped: there is no PostgreSQL")
        return 0
    cycles, seed = int(arguments[2]), int(arguments[3]) if len(arguments) > 3 else random.randrange(1, 1_000_000)
    print(f"{cycles} cycles, seed {seed}", flush=True)
    signal.signal(signal.SIGALRM, give_up)
    folder = tempfile.mkdtemp(prefix="mako-kill-mirror-")
    start, done = time.monotonic(), 0
    trial = Trial(os.path.abspath(arguments[0]), os.path.abspath(arguments[1]), seed, folder)
    try:
        while done < cycles:
            signal.alarm(LONGEST)
            trial.cycle()
            done += 1
            if done % 25 == 0:
                print(f"{done} cycles, {time.monotonic() - start:.0f} s: {trial.summary()}", flush=True)
        signal.alarm(LONGEST)
        trial.finish()
    except (Failure, OSError, subprocess.SubprocessError) as problem:
        print(f"failed after {done} cycles: {problem}\nthe files are in {folder}; the same work, killed at other moments: SEED={seed}")
        return 1
    finally:
        signal.alarm(0)
        trial.end()
    print(f"{cycles} cycles, {time.monotonic() - start:.0f} s: {trial.summary()}")
    shutil.rmtree(folder)
    return 0


def give_up(*_):
    raise Failure(f"a cycle takes longer than {LONGEST} s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
