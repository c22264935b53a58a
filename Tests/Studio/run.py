#!/usr/bin/env python3
"""Runs the tests of Mako Studio's page in headless Chromium. `--pictures FOLDER` keeps a picture of every view there; other
arguments are names of tests, as unittest has them: `run.py test_views.GridTests`."""

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
    import support
    began = time.monotonic()
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(arguments) if arguments else loader.discover(".", "test_*.py")
    result = unittest.TextTestRunner(verbosity=2 if arguments else 1).run(suite)
    support.Shared.stop()
    print(f"{result.testsRun} tests in {time.monotonic() - began:.0f} s")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
