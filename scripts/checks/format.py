#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every C++ file is as clang-format 14 leaves it. Exit status 77 (skipped) where that version is missing; 1 under CI=true."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

import common

VERSION = 14
CONFIG = pathlib.Path(__file__).resolve().parents[2] / ".clang-format"


def find_tool():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path:
            told = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            found = re.search(r"version (\d+)", told)
            if found and int(found.group(1)) == VERSION:
                return path
    return None


def check(root):
    files = common.sources(root, (*common.CODE_FOLDERS, "cmake"))
    if not files:
        return []
    command = [find_tool(), f"--style=file:{CONFIG}", "--dry-run", "-Werror", *map(str, files)]
    told = subprocess.run(command, capture_output=True, text=True)
    places = collections.Counter(re.findall(r"^(\S+?):\d+:\d+: error: code should be", told.stderr, re.M))
    if told.returncode != 0 and not places:
        return [told.stderr.strip() or "clang-format failed"]
    return [f"{os.path.relpath(p, root)}: not as clang-format {VERSION} leaves it, {n} places; run scripts/format.sh"
            for p, n in sorted(places.items())]


GOOD = {"include/a.hpp": "struct a\n{\n    float const* x = nullptr;\n};\n"}
BAD = [("b.hpp: not as", {"include/b.hpp": "struct b { const float *x; };\n"})]

if __name__ == "__main__":
    if find_tool() is None:
        print(f"clang-format {VERSION} is not installed")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    common.main(__doc__, check, GOOD, BAD)
