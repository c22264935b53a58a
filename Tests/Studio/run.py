#!/usr/bin/env python3
"""Runs the tests of Mako Studio's page in headless Chromium, on the double of the server, or with `--program PATH` on the
`mako studio` of that program. `--pictures FOLDER` keeps a picture of every view there; other
arguments are names of tests, as unittest has them: `run.py test_views.GridTests`."""

import collections
import os
import sys
import time
import unittest

os.chdir(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.getcwd())


def main(arguments):
    if "--pictures" in arguments:
        at = arguments.index("--pictures")
        os.environ["MAKO_STUDIO_PICTURES"] = os.path.join(os.environ.get("PWD", "."), arguments[at + 1])
        del arguments[at:at + 2]
    if "--program" in arguments:
        at = arguments.index("--program")
        os.environ["MAKO_STUDIO_PROGRAM"] = os.path.join(os.environ.get("PWD", "."), arguments[at + 1])
        del arguments[at:at + 2]
    import support
    began = time.monotonic()
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(arguments) if arguments else loader.discover(".", "test_*.py")
    result = unittest.TextTestRunner(verbosity=2 if arguments else 1).run(suite)
    support.Shared.stop()
    where = "mako studio" if support.PROGRAM else "the double"
    print(f"{result.testsRun} tests on {where} in {time.monotonic() - began:.0f} s")
    for reason, many in collections.Counter(reason for _, reason in result.skipped).items():
        print(f"{many} skipped: {reason}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
