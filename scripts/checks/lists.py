#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kvloom.hpp brings in every device header, itself or through another, and tests/CMakeLists.txt names every test source."""
import re

import common

TEST_FOLDERS = ("tests/unit", "tests/law", "tests/contract", "tests/docs")


def brought_in(root, path, seen):
    """Adds path and what it includes, directly or not, to seen."""
    if path in seen or not path.exists():
        return
    seen.add(path)
    for _, name, _ in common.includes(path.read_text()):
        brought_in(root, (path.parent / name).resolve(), seen)
        brought_in(root, (root / "include" / name).resolve(), seen)


def check(root):
    root = root.resolve()
    problems, seen = [], set()
    base = root / "include" / "kvloom"
    brought_in(root, base / "kvloom.hpp", seen)
    for path in common.sources(root, ("include",), (".hpp",)):
        name = path.relative_to(base).as_posix()
        device = not name.startswith("backend/") and not name.endswith("_validate.hpp")
        if device and path not in seen:
            problems.append(f"include/kvloom/kvloom.hpp: does not include {name}")

    cmake = root / "tests" / "CMakeLists.txt"
    listed = set(re.findall(r"[\w./]+\.cpp", re.sub(r"#.*", "", cmake.read_text()))) if cmake.exists() else set()
    for path in common.sources(root, TEST_FOLDERS, (".cpp",)):
        name = path.relative_to(root / "tests").as_posix()
        if name not in listed:
            problems.append(f"tests/CMakeLists.txt: does not name {name}")
    return problems


GOOD = {
    "include/kvloom/kvloom.hpp": '#include "core/a.hpp"\n',
    "include/kvloom/core/a.hpp": '#include "kvloom/core/part.hpp"\n',
    "include/kvloom/core/part.hpp": "",
    "include/kvloom/backend/b.hpp": "",
    "include/kvloom/kernel/c_validate.hpp": "",
    "tests/CMakeLists.txt": "kvloom_add_test(a unit/a.test.cpp BACKENDS host)\n",
    "tests/unit/a.test.cpp": "",
}
BAD = [
    ("does not include op/b.hpp", {"include/kvloom/op/b.hpp": ""}),
    ("does not include core/a.hpp", {"include/kvloom/kvloom.hpp": '// #include "core/a.hpp"\n'}),
    ("does not name unit/b.test.cpp", {"tests/unit/b.test.cpp": "", "tests/CMakeLists.txt": "# unit/b.test.cpp\nunit/a.test.cpp"}),
]

if __name__ == "__main__":
    common.main(__doc__, check, GOOD, BAD)
