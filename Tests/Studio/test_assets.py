"""What holds for the text of the page's files."""

import glob
import os
import re
import unittest

import mock

FILES = sorted(glob.glob(os.path.join(mock.ASSETS, "*")))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class AssetTests(unittest.TestCase):
    def test_the_page_stays_under_3100_lines(self):
        self.assertLess(sum(read(path).count("\n") for path in FILES), 3100)
        for path in FILES:
            self.assertLessEqual(read(path).count("\n"), 500, path)

    def test_no_value_can_become_markup_or_script(self):
        banned = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|srcdoc|\beval\b|new Function|\son\w+=\""
        for path in FILES:
            self.assertIsNone(re.search(banned, read(path)), path)

    def test_nothing_comes_from_elsewhere(self):
        for path in FILES:
            found = [one for one in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`]*", re.sub(r"(?m)^\s*//.*$", "", read(path))) if "www.w3.org/2000/svg" not in one]
            self.assertEqual(found, [], path)

    def test_the_policy_of_content_can_hold(self):
        page = read(os.path.join(mock.ASSETS, "index.html"))
        self.assertNotIn("style=", page)
        self.assertNotIn("<style", page)
        self.assertIsNone(re.search(r"<script(?![^>]*\bsrc=)", page))

    def test_every_module_that_is_imported_exists(self):
        names = {os.path.basename(path) for path in FILES}
        for path in FILES:
            for name in re.findall(r"from \"\./([\w.]+)\"", read(path)):
                self.assertIn(name, names, path)


class ShortcutTests(unittest.TestCase):
    def test_the_documented_shortcuts_are_those_of_the_page(self):
        groups = re.split(r"\{ name: ", read(os.path.join(mock.ASSETS, "keys.js")))[1:]
        expected = []
        for group in groups:
            expected.append("## " + re.match(r'"(.+?)"', group)[1])
            expected += [f"| {' '.join(f'`{key}`' for key in keys.split())} | {what} |" for keys, what in re.findall(r'\["(.+?)", "(.+?)"\]', group)]
        text = read(os.path.join(mock.ASSETS, "../../../docs/studio-keys.md"))
        found = [line for line in text.splitlines() if line.startswith(("## ", "| `"))]
        self.assertEqual(found, expected)
