#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No file over 400 lines, the licence line on top, #pragma once in each header, no tab or trailing space."""
import re

import common

LONGEST = 400
LICENCE = "SPDX-License-Identifier: MIT"
SUFFIXES = (".hpp", ".cpp", ".py", ".sh", ".cmake", ".txt")


def check(root):
    problems = []
    folders = (*common.CODE_FOLDERS, "scripts", "cmake", ".ci")
    files = common.sources(root, folders, SUFFIXES) + [p for p in (root / "CMakeLists.txt",) if p.exists()]
    for path in files:
        name, text = path.relative_to(root), path.read_text()
        lines = text.split("\n")
        if len(lines) - 1 > LONGEST:
            problems.append(f"{name}: {len(lines) - 1} lines; the longest allowed is {LONGEST}")
        first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
        if LICENCE not in first:
            problems.append(f"{name}:1: the first line must say {LICENCE}")
        if path.suffix == ".hpp" and not re.search(r"^#pragma once$", text, re.M):
            problems.append(f"{name}: no '#pragma once'")
        if text and not text.endswith("\n"):
            problems.append(f"{name}: no line end at its end")
        problems += [f"{name}:{i + 1}: tab or trailing space" for i, l in enumerate(lines) if "\t" in l or l != l.rstrip()]
    return problems


TOP = f"// {LICENCE}\n"
GOOD = {"include/a.hpp": TOP + "#pragma once\n", "scripts/a.py": f"#!/bin/python\n# {LICENCE}\n", "tests/a.cpp": TOP + "\n" * 399}
BAD = [
    ("longest allowed", {"tests/a.cpp": TOP + "\n" * 400}),
    ("first line must say", {"tests/a.cpp": "int a;\n" + TOP}),
    ("first line must say", {"scripts/a.sh": "#!/bin/bash\n"}),
    ("no '#pragma once'", {"include/a.hpp": TOP + "// #pragma once\n"}),
    ("trailing space", {"bench/a.cpp": TOP + "int a; \n"}),
    ("tab", {"bench/a.cpp": TOP + "\tint a;\n"}),
    ("no line end", {"bench/a.cpp": TOP + "int a;"}),
]

if __name__ == "__main__":
    common.main(__doc__, check, GOOD, BAD)
