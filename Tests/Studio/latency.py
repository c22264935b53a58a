#!/usr/bin/env python3
"""How much Studio's live page costs a process that writes at full speed, and how far the page is behind it.

`latency.py PROGRAM` runs `mako shell` with single UPDATE statements, each a commit of its own that is synced to the disk, alone and beside
`mako studio` with its live page open in headless Chromium, in turns. PROGRAM is a release build. It prints the 99th percentile of the time from a
statement to its answer, and how long commits waited until the page showed them; exit status 1 where the targets are missed: at most twice the
time alone, and at most one second behind.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import chromium
import real

RUNS = int(os.environ.get("RUNS", 5))
SECONDS = float(os.environ.get("SECONDS", 10))

# A statement that changes no value makes no commit: no number comes twice.
NUMBERS = itertools.count(1)

# Notes when the page has shown which commit.
WATCH = """(() => { window.seen = []; const feed = document.querySelector('#feed');
    new MutationObserver(() => { const found = feed.querySelector('li b')?.textContent.replace(/\\D/g, '');
        if (found && window.seen.at(-1)?.[1] !== Number(found)) window.seen.push([Date.now() / 1000, Number(found)]); })
        .observe(feed, { childList: true }); })()"""


def write(shell, seconds):
    """Commits for some seconds; the time that each took, and when it was answered."""
    took, answered = [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        number = next(NUMBERS)
        began = time.perf_counter()
        shell.stdin.write(f"UPDATE Reading SET value = {number} WHERE id = {number % 1000 + 1};\n")
        shell.stdin.flush()
        if "changed" not in shell.stdout.readline():
            raise SystemExit("a statement of the writer failed")
        took.append(time.perf_counter() - began)
        answered.append(time.time())
    return took, answered


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def commit_number(program, file):
    return json.loads(program.run("info", file, "--stats", "--json"))["commitNumber"]


def alone(program, file, shell):
    return write(shell, SECONDS)[0], None


def watched(program, file, shell):
    server = real.Server(program, file, False)
    browser = chromium.Chromium(chromium.find_chromium())
    try:
        server.enter(browser)
        browser.open(server.address + "#/live")
        browser.wait("document.querySelector('.dot.on') && document.querySelector('#feed')", timeout=30)
        browser.run(WATCH)
        first = server.get("schema")["commit"] + 1
        took, answered = write(shell, SECONDS)
        last = first + len(answered) - 1
        # Later numbers are of commits of the store itself.
        browser.wait(f"window.seen.at(-1)?.[1] >= {last}", timeout=30)
        behind, shown = [], first - 1
        for at, number in browser.run("window.seen"):
            # The oldest commit that this event was the first to show.
            if shown < last:
                behind.append(at - answered[shown + 1 - first])
            shown = number
        return took, behind
    finally:
        browser.close()
        server.stop()


def main(path):
    program = real.Program(path)
    results = {"alone": [], "beside the page": []}
    waits = []
    with tempfile.TemporaryDirectory(prefix="mako-latency-") as folder:
        file = os.path.join(folder, "example.mako")
        program.fill(file, 1000)
        shell = subprocess.Popen([program.path, "shell", file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        write(shell, 2)
        for run in range(RUNS):
            for name, measure in (("alone", alone), ("beside the page", watched)):
                took, behind = measure(program, file, shell)
                results[name].append(percentile(took, .99))
                print(f"run {run + 1}, {name}: {len(took) / SECONDS:,.0f} commits/s, median {statistics.median(took) * 1000:.2f} ms, "
                      f"99 % within {results[name][-1] * 1000:.2f} ms" + (f"; page behind {statistics.median(behind):.2f} s, at most {max(behind):.2f} s" if behind else ""), flush=True)
                waits += behind or []
        shell.stdin.close()
        shell.wait(30)
    before, beside = (statistics.median(values) for values in results.values())
    print(f"99th percentile, median of {RUNS} runs: {before * 1000:.2f} ms alone, {beside * 1000:.2f} ms beside the page, {beside / before:.2f} times; "
          f"the page is at most {max(waits):.2f} s behind")
    return 0 if beside <= 2 * before and max(waits) <= 1 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
