#!/usr/bin/env python3
"""Counts what makes a codebase hard to read, and holds the counts below the limits of Tests/Limits.txt.

    scripts/counters.py arrows FOLDER   which folders of a module use which, and the largest circle of files
    scripts/counters.py voice [PATH...] words that docs and comments avoid, most frequent files first
    scripts/counters.py sizes FOLDER    lines of files and functions, largest first
    scripts/counters.py undocumented FOLDER   public declarations without a doc comment
    scripts/counters.py public          public declarations of each module, and those without a doc comment
    scripts/counters.py check           every limit of Tests/Limits.txt; exit status 1 when one is exceeded

A limit may only shrink: `check` also fails when a count is more than a tenth below its limit, so that the limit follows.
"""

import collections
import os
import re
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMITS = "Tests/Limits.txt"

TOKEN = re.compile(
    r'//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|(?P<h>#+)"""[\s\S]*?"""(?P=h)|"""[\s\S]*?"""|(?P<g>#+)"[^\n]*?"(?P=g)|"(?:\\.|[^"\\\n])*"'
)
DECLARATION = re.compile(r"\b(struct|class|enum|protocol|actor|typealias|extension)\s+([A-Za-z_][\w.]*)|[{}]")
FUNCTION = re.compile(r"\b(?:func\s+[^\s(<]+|init[?!]?(?=\s*[(<])|deinit(?=\s*\{)|subscript(?=\s*[(<]))")
AVOIDED = re.compile(
    r"\b(nobody|somebody|anybody|whoever|whomever|tells?|told|asks?|asked|stands?|stood|heeded|mended|he|his)\b", re.I
)
PROSE = (".swift", ".md", ".sh", ".txt")


def swift_files(folder):
    found = {}
    for path, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.endswith(".swift"):
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as file:
                    found[os.path.relpath(full, ROOT)] = file.read()
    return found


def code(text):
    """The text with comments and string literals blanked out; line numbers stay."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def declared_types(text):
    """The names of the types that a file declares, nested ones by their last name. Extensions declare nothing."""
    names, previous = [], ""
    for match in DECLARATION.finditer(text):
        kind, name = match.group(1), match.group(2)
        if kind is None or kind == "extension":
            continue
        if kind == "class" and name in ("func", "var", "let", "subscript"):
            continue
        if name[0].isupper():
            names.append(name)
    return names


def arrows(folder):
    """(file -> files whose types it names, doubled names). A name that several files declare counts for none of them."""
    files = {path: code(text) for path, text in swift_files(folder).items()}
    owners = collections.defaultdict(set)
    for path, text in files.items():
        for name in declared_types(text):
            owners[name].add(path)
    single = {name: next(iter(paths)) for name, paths in owners.items() if len(paths) == 1}
    edges = {}
    for path, text in files.items():
        used = {single[word] for word in set(re.findall(r"\b[A-Z]\w*", text)) if word in single}
        edges[path] = used - {path}
    return edges, sorted(name for name, paths in owners.items() if len(paths) > 1)


def circles(edges):
    """The strongly connected components, largest first (Tarjan, with an explicit stack)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(edges[target]))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = []
                    while not circle or circle[-1] != node:
                        circle.append(stack.pop())
                        on_stack.discard(circle[-1])
                    found.append(circle)
    return sorted(found, key=len, reverse=True)


def folder_arrows(edges):
    counts = collections.Counter()
    for path, targets in edges.items():
        for target in targets:
            pair = os.path.dirname(path), os.path.dirname(target)
            if pair[0] != pair[1]:
                counts[pair] += 1
    return counts


def order(folder):
    """The folders of a module in the order of its table in docs/architecture.md, from the bottom up, as paths."""
    with open(os.path.join(ROOT, "docs/architecture.md"), encoding="utf-8") as file:
        text = file.read()
    table = text.split(f"The folders of `{os.path.basename(folder)}`, from the bottom up.", 1)[1].split("\n\n", 2)[1]
    return [f"{folder}/{name}" for name in re.findall(r"^\| `([\w/]+)` \|", table, re.M)]


PLANNER = "/Query/Planning/"
DOORS = re.compile(r"\b(?:Planner\.(?!(?:plan|explanation)\b)\w+|(?:Select|Join|Subquery)Planner\b|SelectOptimizer\b|QueryFingerprint\b|CachedPlan\b)")


def plans_elsewhere(folder):
    """What code outside the planner's folder names of it besides `Planner.plan` and `Planner.explanation`, which plans and lists the rest, one string for each place."""
    found = []
    for path, text in sorted(swift_files(folder).items()):
        if PLANNER not in path:
            found += [f"{path}: {name}" for name in DOORS.findall(code(text))]
    return found


def prose(path, text):
    """The lines of a file that people read: of Swift only comments and string literals, of deliberate bugs no code."""
    if "/Tests/Mutations/" in path:
        return [line for line in text.split("\n") if line.startswith(("#", "=="))]
    if not path.endswith(".swift"):
        return text.split("\n")
    return [match.group(0) for match in TOKEN.finditer(text)]


def voice(paths):
    per_file, per_word = collections.Counter(), collections.Counter()
    for given in paths:
        full = os.path.join(ROOT, given)
        names = [full] if os.path.isfile(full) else []
        for path, folders, found in os.walk(full):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in ("Corpus", "Golden")]
            names += [os.path.join(path, name) for name in found if name.endswith(PROSE)]
        for name in names:
            with open(name, encoding="utf-8", errors="replace") as file:
                text = file.read()
            for line in prose(name, text):
                for match in AVOIDED.finditer(line):
                    per_file[os.path.relpath(name, ROOT)] += 1
                    per_word[match.group(1).lower()] += 1
    return per_file, per_word


def functions(text):
    """(first line, lines) of each function with a body; the text has no comments."""
    found = []
    for match in FUNCTION.finditer(text):
        depth, place = 0, match.end()
        while place < len(text) and not (depth == 0 and text[place] in "{}\n;"):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[place], 0)
            if depth == 0 and text[place : place + 2] == ")\n" and re.match(r"\s*(throws|async|->|where|\{)", text[place + 1 :]):
                place += 1
            place += 1
        if place >= len(text) or text[place] != "{":
            continue
        depth, end = 0, place
        while end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                break
            end += 1
        found.append((text.count("\n", 0, match.start()) + 1, text.count("\n", match.start(), end) + 1))
    return found


def sizes(folder):
    files, found = [], []
    for path, text in swift_files(folder).items():
        files.append((text.count("\n"), path))
        found += [(lines, path, first) for first, lines in functions(code(text))]
    return sorted(files, reverse=True), sorted(found, reverse=True)


PUBLIC = re.compile(
    r"\s*(?:(?:@\w+(?:\([^)]*\))?|final|static|nonisolated|mutating|override|indirect|convenience|required)\s+)*(?:public|open)\s+(?!extension\b|import\b|\W)"
)
ATTRIBUTES = re.compile(r"\s*(?:@\w+(?:\([\s\S]*\))?\s*)+")
# Members of the protocols of the standard library, and names with an underscore, which only generated and inlined code calls.
KNOWN = re.compile(
    r"\b(?:var (?:description|debugDescription|errorDescription)\b|func (?:hash\(into|encode\(to|encode<|next\(|makeIterator\(|==|<)|(?:var|let|func) _|valueCodec)"
)


def undocumented(folder):
    """The public declarations without a doc comment, one string for each; deprecated and unavailable names count as documented."""
    found = []
    for path, source in sorted(swift_files(folder).items()):
        lines = source.split("\n")
        for number, line in enumerate(lines):
            if not PUBLIC.match(line) or KNOWN.search(line):
                continue
            above = number - 1
            # An attribute over several lines ends in the line above; a comment of its own may precede it.
            while True:
                while re.match(r"\s*//(?!/)", lines[above]):
                    above -= 1
                first = above
                while first > above - 16 and not re.match(r"\s*(@|///|$)", lines[first]):
                    first -= 1
                text = "\n".join(lines[first:above + 1])
                if not ATTRIBUTES.fullmatch(text) or text.count("(") != text.count(")"):
                    break
                above = first - 1
            attributes = " ".join(lines[above + 1:number + 1])
            if not lines[above].strip().startswith("///") and not re.search(r"deprecated|unavailable", attributes):
                found.append(f"{path}:{number + 1}: {line.strip()}")
    return found


TESTABLE = re.compile(r"^\s*@testable import ", re.M)


def measured(kind, subject):
    """The number that a line of the limits names."""
    if kind == "largest-circle":
        return max([len(circle) for circle in circles(arrows(subject)[0])] or [0])
    if kind == "folder-circles":
        counts = folder_arrows(arrows(subject)[0])
        return sum(1 for (a, b) in counts if a < b and (b, a) in counts)
    if kind == "arrows-downwards":
        # A folder that the table lacks counts as its lowest.
        places = {name: place for place, name in enumerate(order(subject))}
        pairs = folder_arrows(arrows(subject)[0])
        return sum(1 for a, b in pairs if places.get(a, -1) < places.get(b, -1))
    if kind == "plans-elsewhere":
        return len(plans_elsewhere(subject))
    if kind == "undocumented":
        return len(undocumented(subject))
    if kind == "testable":
        # Imports by which tests see what a module keeps to itself.
        return sum(len(TESTABLE.findall(text)) for text in swift_files(subject).values())
    if kind == "avoided-words":
        return sum(voice(subject.split(","))[0].values())
    if kind == "largest-file":
        return max([lines for lines, _ in sizes(subject)[0]] or [0])
    if kind == "largest-function":
        return max([lines for lines, _, _ in sizes(subject)[1]] or [0])
    raise SystemExit(f"{LIMITS}: '{kind}' is not a count")


def check():
    failed = 0
    with open(os.path.join(ROOT, LIMITS), encoding="utf-8") as file:
        for line in file:
            columns = line.split("#")[0].split()
            if not columns:
                continue
            kind, subject, limit = columns[0], columns[1], int(columns[2])
            count = measured(kind, subject)
            verdict = "ok"
            if count > limit:
                verdict = "exceeds its limit"
            elif count < limit - max(3, limit // 10):
                verdict = f"is far below its limit: lower it to {count} in {LIMITS}"
            failed += verdict != "ok"
            print(f"{kind} {subject}: {count} of at most {limit}, {verdict}")
    return 1 if failed else 0


def main(arguments):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    what, rest = (arguments + [""])[0], arguments[1:]
    if what == "check":
        return check()
    if what == "voice":
        per_file, per_word = voice(rest or ["Sources", "docs", "Demo", "Benchmarks", "README.md"])
        words = ", ".join(f"{word} {count}" for word, count in per_word.most_common(12))
        print(f"{sum(per_file.values())} words to avoid: {words}")
        for path, count in per_file.most_common(15):
            print(f"{count:5d} {path}")
        return 0
    if what == "public":
        for name in sorted(os.listdir(os.path.join(ROOT, "Sources"))):
            folder = f"Sources/{name}"
            count = sum(1 for text in swift_files(folder).values() for line in text.split("\n") if PUBLIC.match(line))
            if count:
                print(f"{count:5d} public declarations of {name}, {len(undocumented(folder))} without a doc comment")
        return 0
    if what == "undocumented" and len(rest) == 1:
        print("\n".join(undocumented(rest[0])))
        return 0
    if what in ("arrows", "sizes") and len(rest) == 1:
        if what == "sizes":
            files, found = sizes(rest[0])
            for lines, path in files[:10]:
                print(f"{lines:5d} lines {path}")
            for lines, path, first in found[:10]:
                print(f"{lines:5d} lines, function at {path}:{first}")
            return 0
        edges, doubled = arrows(rest[0])
        counts = folder_arrows(edges)
        for (a, b), count in counts.most_common():
            back = counts.get((b, a), 0)
            print(f"{count:4d} {a} -> {b}" + (f", {back} back" if back else ""))
        print(f"{len(edges)} files; names declared by several files: {', '.join(doubled) or 'none'}")
        print("largest circles of files:", [len(circle) for circle in circles(edges)[:4]])
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
