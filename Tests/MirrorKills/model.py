"""The content of a database after each of its commits, and the statements of a random commit. Nothing of Mako's is used here: rows are those of Python,
in the form in which PostgreSQL writes them as JSON."""

import dataclasses
import random

# The type in PostgreSQL of each type of a column.
TYPES = {
    "INTEGER": "bigint", "UNSIGNED": "numeric", "REAL": "double precision", "TEXT": "text", "BLOB": "bytea", "BOOLEAN": "boolean",
    "DATE": "timestamp with time zone", "UUID": "uuid",
}
PIECES = ["", "a", "it's", '"', "\\", "\\N", "\t", "\n", "\\.", "é\u0301", "😀", "\u0001", "$1", "x y ", ";", "--"]
DOUBLES = [0.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, -1e20]
# A transaction of this many rows takes several statements of the mirror, and long enough to be killed in it.
LARGE = 2500
MOST_ROWS = 12_000


@dataclasses.dataclass(frozen=True)
class Table:
    """A table at one commit. It is never changed, because later commits share it."""

    name: str
    keys: tuple
    columns: dict
    rows: dict

    def changed(self, change):
        rows = dict(self.rows)
        change(rows)
        return dataclasses.replace(self, rows=rows)


# Counts the commits, so that no two of them have the same content.
STATE = Table("state", ("id",), {"id": "INTEGER", "n": "INTEGER"}, {(1,): {"id": 1, "n": 0}})
BEGINNING = ["CREATE TABLE state (id INTEGER PRIMARY KEY, n INTEGER)", "INSERT INTO state VALUES (1, 0)"]


def literal(kind, value):
    """A value as a statement writes it."""
    if value is None:
        return "NULL"
    if kind == "BOOLEAN":
        return "TRUE" if value else "FALSE"
    if kind == "BLOB":
        return f"x'{value[2:]}'"
    if kind == "DATE":
        return f"'{value[:19].replace('T', ' ')}'"
    if kind in ("TEXT", "UUID"):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


class Work:
    """Random commits."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.made = self.count = 0

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def commit(self, model):
        """Returns what the writer gets for the next commit, and the content after it."""
        if self.chance(4) and (added := self.added(model)):
            return added
        model = dict(model)
        statements, line = [], {}
        if self.chance(5):
            statements += self.large(model)
            if self.chance(8):
                line["rewritten"] = list(model)
        elif len(model) < 3 or self.chance(4):
            statements += self.schema(model)
        for _ in range(self.random.randint(0, 5)):
            statements += self.rows(model)
        self.count += 1
        model["state"] = model["state"].changed(lambda rows: rows.update({(1,): {"id": 1, "n": self.count}}))
        return line | {"statements": statements + [f"UPDATE state SET n = {self.count} WHERE id = 1"]}, model

    # Rows

    def rows(self, model):
        tables = [table for table in model.values() if table.name != "state"]
        if not tables:
            return []
        table = self.random.choice(tables)
        kind = self.random.randrange(10)
        if kind < 5:
            return self.insert(model, table, [self.row(table) for _ in range(self.random.randint(1, 8))])
        if kind < 8:
            return self.update(model, table)
        return self.delete(model, table, *self.span(table))

    def insert(self, model, table, rows):
        def change(into):
            into.update({tuple(row[key] for key in table.keys): row for row in rows})

        model[table.name] = table.changed(change)
        values = ["(" + ", ".join(literal(kind, row[name]) for name, kind in table.columns.items()) + ")" for row in rows]
        names = ", ".join(table.columns)
        return [
            f"INSERT OR REPLACE INTO {table.name} ({names}) VALUES {', '.join(values[at:at + 250])}" for at in range(0, len(values), 250)
        ]

    def update(self, model, table):
        names = [name for name in table.columns if name not in table.keys]
        changes = {name: self.value(table.columns[name]) for name in self.random.sample(names, self.random.randint(1, len(names)))}
        condition, meets = self.span(table)

        def change(rows):
            for key, row in rows.items():
                if meets(row):
                    rows[key] = row | changes

        model[table.name] = table.changed(change)
        text = ", ".join(f"{name} = {literal(table.columns[name], value)}" for name, value in changes.items())
        return [f"UPDATE {table.name} SET {text} WHERE {condition}"]

    def delete(self, model, table, condition, meets):
        kept = {key: row for key, row in table.rows.items() if not meets(row)}
        model[table.name] = dataclasses.replace(table, rows=kept)
        return [f"DELETE FROM {table.name} WHERE {condition}"]

    def span(self, table):
        """A condition on the last column of the key, as text and as a function."""
        name = table.keys[-1]
        first = self.random.randint(-5, 300)
        last = first + self.random.choice([0, 0, 3, 30])
        return f"{name} >= {first} AND {name} <= {last}", lambda row: first <= row[name] <= last

    def large(self, model):
        """Many rows in, or many changed or out again."""
        tables = [table for table in model.values() if table.name != "state"]
        if not tables:
            return self.schema(model)
        table = max(tables, key=lambda table: len(table.rows))
        if sum(len(table.rows) for table in tables) > MOST_ROWS:
            name = table.keys[-1]
            return self.delete(model, table, f"{name} > 400", lambda row: row[name] > 400)
        if len(table.rows) > LARGE and self.chance(40):
            name, value = [name for name in table.columns if name not in table.keys][0], None
            model[table.name] = table.changed(lambda rows: rows.update({key: row | {name: value} for key, row in rows.items()}))
            return [f"UPDATE {table.name} SET {name} = NULL"]
        table = self.random.choice(tables)
        first = self.random.randint(400, 9000)
        return self.insert(model, table, [self.row(table, number) for number in range(first, first + LARGE)])

    def row(self, table, number=None):
        row = {name: self.value(kind) for name, kind in table.columns.items()}
        number = self.random.randint(0, 300) if number is None else number
        return row | ({"code": self.random.choice(["a", "b'", "\\", "é"])} if len(table.keys) == 2 else {}) | {table.keys[-1]: number}

    def value(self, kind):
        number = self.random.getrandbits(64)
        if self.chance(15):
            return None
        if kind == "INTEGER":
            return number - 2**63 if self.chance(50) else number % 5
        if kind == "UNSIGNED":
            return number
        if kind == "REAL":
            return self.random.choice(DOUBLES) if self.chance(50) else self.random.uniform(-1e9, 1e9)
        if kind == "TEXT":
            return "".join(self.random.choice(PIECES) for _ in range(number % 5))
        if kind == "BLOB":
            return "\\x" + self.random.randbytes(number % 40).hex()
        if kind == "BOOLEAN":
            return number % 2 == 0
        if kind == "DATE":
            return f"{1800 + number % 400}-{1 + number % 12:02}-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:07+00:00"
        digits = f"{number:016x}" * 2
        return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])

    # Tables

    def schema(self, model):
        """A table is created, dropped, or made anew with other columns; or an index is created, which the mirror does not have."""
        names = [name for name in model if name != "state"]
        kind = self.random.randrange(4) if len(names) > 1 else 0
        name = self.random.choice(names) if names else ""
        self.made += 1
        if kind == 0 and len(names) < 5:
            return self.create(model, f"t{self.made}", self.chance(50))
        if kind == 1:
            del model[name]
            return [f"DROP TABLE {name}"]
        old = model[name]
        if kind == 2:
            return [f"CREATE INDEX i{self.made} ON {name} ({self.random.choice([column for column in old.columns if column not in old.keys])})"]
        statements = [f"DROP TABLE {name}"] + self.create(model, name, len(old.keys) == 2)
        new = model[name]
        kept = list(old.rows.values())[:500]
        rows = [{column: row[column] if old.columns.get(column) == kind else None for column, kind in new.columns.items()} for row in kept]
        return statements + (self.insert(model, new, rows) if rows else [])

    def create(self, model, name, has_two_keys):
        columns = {"code": "TEXT", "number": "INTEGER"} if has_two_keys else {"number": "INTEGER"}
        for place, kind in enumerate(self.random.sample(list(TYPES), self.random.randint(1, 6))):
            columns[f"c{place}"] = kind
        model[name] = Table(name, tuple(columns)[:1 + has_two_keys], columns, {})
        return [self.definition(model[name])]

    def definition(self, table):
        columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
        return f"CREATE TABLE {table.name} ({columns}, PRIMARY KEY ({', '.join(table.keys)}))"

    def added(self, model):
        """A table gets one more column, with a value in the rows that are there."""
        names = [name for name, table in model.items() if name != "state" and len(table.columns) < 12]
        if not names:
            return None
        table = model[self.random.choice(names)]
        self.made += 1
        column, value = f"a{self.made}", self.random.randrange(1000)
        rows = {key: row | {column: value} for key, row in table.rows.items()}
        new = dataclasses.replace(table, columns=table.columns | {column: "INTEGER"}, rows=rows)
        return {"table": table.name, "column": column, "value": value}, model | {table.name: new}
