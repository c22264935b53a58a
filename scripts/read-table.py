#!/usr/bin/env python3
"""Reads an exported table as other programs do, and prints its rows as JSON: a list of lists of texts, null for no value.

usage: read-table.py csv|tsv|json|jsonl FILE
"""
import csv
import json
import sys


def text(value):
    """A value of a JSON file as the text that a CSV file has for it."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def rows(kind, path):
    if kind in ("csv", "tsv"):
        with open(path, encoding="utf-8", newline="") as file:
            if kind == "csv":
                yield from csv.reader(file)
                return
            for line in file.read().split("\n")[:-1]:
                yield [unescaped(field) for field in line.split("\t")]
        return
    with open(path, encoding="utf-8") as file:
        records = json.load(file) if kind == "json" else [json.loads(line) for line in file.read().split("\n")[:-1]]
    if records:
        yield list(records[0])
    for record in records:
        yield [text(value) for value in record.values()]


def unescaped(field):
    if field == "\\N":
        return None
    result = ""
    letters = iter(field)
    for letter in letters:
        if letter == "\\":
            letter = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[next(letters)]
        result += letter
    return result


json.dump(list(rows(sys.argv[1], sys.argv[2])), sys.stdout)
