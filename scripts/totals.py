#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up ctest's results (JUnit files of a folder); the last line is 'N passed, N failed, N skipped'. Fails on a failure."""
import argparse
import pathlib
import sys
import xml.etree.ElementTree

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--failed", type=int, default=0, help="failures that ctest has not seen, such as a build")
parser.add_argument("--skipped", type=int, default=0)
parser.add_argument("folder", type=pathlib.Path)
options = parser.parse_args()

tests, failed, skipped, names = 0, options.failed, options.skipped, []
for path in sorted(options.folder.glob("*.xml")):
    suite = xml.etree.ElementTree.parse(path).getroot()
    count = {key: int(suite.get(key) or 0) for key in ("tests", "failures", "disabled", "skipped")}
    bad, idle = count["failures"], count["skipped"] + count["disabled"]
    print(f"{path.stem:8} {count['tests'] - bad - idle:5} passed {bad:5} failed {idle:5} skipped")
    names += [f"{path.stem}: {case.get('name')}" for case in suite if case.get("status") == "fail"]
    tests, failed, skipped = tests + count["tests"] - bad - idle, failed + bad, skipped + idle
for name in names:
    print(f"FAILED {name}")
print(f"{tests} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed or not tests else 0)
