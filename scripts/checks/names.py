#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No wave size taken from the compiler or runtime; no macro defined outside core/config.hpp and version.hpp; and no test
name that CMake would cut in two."""
import re

import common

WAVE_SIZE = re.compile(r"\b(warpSize|__AMDGCN_WAVEFRONT_SIZE(?:__)?)\b")
MACRO = re.compile(r"^[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)", re.M)
TEST_NAME = re.compile(r'(?:\b|_)TEST_CASE[ \t]*\(\s*"((?:\\.|[^"\\])*)"')
MACRO_FILES = ("include/kvloom/core/config.hpp", "include/kvloom/version.hpp")


def check(root):
    problems = []
    for path in common.sources(root):
        name, text = path.relative_to(root), common.blank(path.read_text())
        for match in WAVE_SIZE.finditer(text):
            problems.append(f"{name}:{common.line_of(text, match.start())}: {match.group(1)} must not be used")
        for match in TEST_NAME.finditer(path.read_text()):
            if ";" in match.group(1):
                problems.append(f"{name}:{common.line_of(path.read_text(), match.start())}: semicolon in a test's name")
        if name.parts[0] == "include" and name.as_posix() not in MACRO_FILES:
            for match in MACRO.finditer(text):
                problems.append(f"{name}:{common.line_of(text, match.start())}: macro {match.group(2)} outside core/config.hpp")
    return problems


GOOD = {
    "include/kvloom/core/config.hpp": "#define KVLOOM_FN\n",
    "include/kvloom/version.hpp": "#define KVLOOM_VERSION 1\n",
    "include/kvloom/core/a.hpp": "// warpSize, #define A\n/*\n#define B\n*/\n",
    "tests/a.cpp": '#define CATCH_CONFIG_MAIN\nTEST_CASE("a, b", "[c;d]") {}\n',
}
BAD = [
    ("semicolon", {"tests/b.cpp": 'TEMPLATE_TEST_CASE("a; b", "[x]", int) {}\n'}),
    ("warpSize", {"tests/b.cpp": "int n = warpSize;\n"}),
    ("__AMDGCN_WAVEFRONT_SIZE", {"include/kvloom/core/b.hpp": "#if __AMDGCN_WAVEFRONT_SIZE == 64\n"}),
    ("macro HELPER", {"include/kvloom/op/b.hpp": "#  define HELPER(x) x\n"}),
    ("macro KVLOOM_FN", {"include/kvloom/op/b.hpp": "#undef KVLOOM_FN\n"}),
]

if __name__ == "__main__":
    common.main(__doc__, check, GOOD, BAD)
