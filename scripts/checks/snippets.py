#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each C++ block of README.md and docs/*.md is a region of a test, word for word, and each region is shown.

A region is what lies between '// [snippet: NAME]' and '// [end]'; pieces of one name in one file follow each
other with an empty line between. The line before a block says which it is:
<!-- tests/docs/guide.test.cpp: NAME -->.
"""
import re
import textwrap

import common

BEGIN = re.compile(r"^[ \t]*// \[snippet: (\w+)\]$")
END = re.compile(r"^[ \t]*// \[end\]$")
NAME = re.compile(r"^<!-- ([\w./]+): (\w+) -->$")
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+#-]*)")
CPP = ("cpp", "c++", "cxx", "cc", "hpp", "cuda", "hip")


def regions_of(name, text):
    """({region: its lines, dedented}, problems) of a source."""
    pieces, problems, open_at, region, lines = {}, [], 0, None, []
    for number, line in enumerate(text.split("\n"), 1):
        begin = BEGIN.match(line)
        if begin and region is not None:
            problems.append(f"{name}:{number}: a region begins inside the one of line {open_at}")
        elif begin:
            region, open_at, lines = begin.group(1), number, []
        elif END.match(line) and region is None:
            problems.append(f"{name}:{number}: the end of no region")
        elif END.match(line):
            pieces.setdefault(region, []).append(textwrap.dedent("\n".join(lines)).strip("\n"))
            region = None
        elif "[snippet" in line:
            problems.append(f"{name}:{number}: a region begins with a line '// [snippet: name]'")
        else:
            lines.append(line)
    if region is not None:
        problems.append(f"{name}:{open_at}: region {region} has no end")
    return {key: "\n\n".join(parts) for key, parts in pieces.items()}, problems


def blocks_of(text):
    """(line, language, text, file and region or None) of each fenced block of a page."""
    fence, before = None, ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence, language, at, lines = mark.group(1), mark.group(2), number, []
            named = NAME.match(before)
        elif fence is not None and mark and mark.group(1).startswith(fence) and not mark.group(2):
            yield at, language, "\n".join(lines), named.groups() if named else None
            fence = None
        elif fence is not None:
            lines.append(line)
        before = line
    if fence is not None:
        yield at, language, "\n".join(lines), named.groups() if named else None


def first_difference(shown, region):
    """The number of the first line of a block that is not the region's, and what the region has there."""
    ours, theirs = shown.split("\n"), region.split("\n") + ["its end"]
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), len(ours))
    return at + 1, theirs[at].strip()


def check(root):
    problems, regions, used = [], {}, set()
    for path in common.sources(root, ("tests",)):
        name = path.relative_to(root).as_posix()
        found, wrong = regions_of(name, path.read_text())
        problems += wrong
        regions.update({(name, region): text for region, text in found.items()})
    for path in [p for p in (root / "README.md", *sorted((root / "docs").glob("*.md"))) if p.exists()]:
        page = path.relative_to(root).as_posix()
        for line, language, shown, named in blocks_of(path.read_text()):
            if named is None:
                if language.lower() in CPP:
                    problems.append(f"{page}:{line}: a C++ block without the name of its region")
            elif named not in regions:
                problems.append(f"{page}:{line}: there is no region {named[1]} in {named[0]}")
            else:
                used.add(named)
                if shown != regions[named]:
                    at, wanted = first_difference(shown, regions[named])
                    where = f"{page}:{line + at}"
                    problems.append(f"{where}: not as {named[1]} in {named[0]}, which has: {wanted}")
    unused = sorted(regions.keys() - used)
    return problems + [f"{name}: region {region} is shown nowhere" for name, region in unused]


TEST = "tests/docs/a.test.cpp"
SOURCE = """// [snippet: launch]
struct a
{};
// [end]
void f()
{
    // [snippet: launch]
    if (b) {
        c();
    }
    // [end]
}
"""
BLOCK = "struct a\n{};\n\nif (b) {\n    c();\n}\n"
OTHERS = "\n```\nplain\n```\n\n```cmake\nadd_library(a)\n```\n"
PAGE = f"Text.\n\n<!-- {TEST}: launch -->\n```cpp\n{BLOCK}```\n{OTHERS}"
GOOD = {TEST: SOURCE, "docs/guide.md": PAGE, "README.md": PAGE}
BAD = [
    ("README.md:9: not as launch", {"README.md": PAGE.replace("    c();", "    d();")}),
    ("docs/guide.md:8: not as launch", {"docs/guide.md": PAGE.replace("if (b)", "if  (b)")}),
    ("not as launch", {"docs/guide.md": PAGE.replace("}\n```", "}\nmore();\n```")}),
    ("not as launch", {"docs/guide.md": PAGE.replace("    c();\n}\n", "    c();\n")}),
    ("not as launch", {TEST: SOURCE.replace("c();", "c(1);")}),
    ("without the name", {"docs/guide.md": PAGE + "```cpp\nint a;\n```\n"}),
    ("without the name", {"docs/other.md": "```C++\nint a;\n```\n"}),
    ("without the name", {"README.md": PAGE.replace("launch -->\n", "launch -->\n\n")}),
    ("without the name", {"README.md": PAGE + "~~~ cpp\nint a;"}),
    ("no region start in", {"docs/guide.md": PAGE.replace(": launch", ": start")}),
    ("no region launch in tests/b.cpp", {"docs/guide.md": PAGE.replace(TEST, "tests/b.cpp")}),
    ("region lonely is shown nowhere", {TEST: SOURCE + "// [snippet: lonely]\nint a;\n// [end]\n"}),
    ("region launch has no end", {"tests/b.cpp": "// [snippet: launch]\n"}),
    ("begins inside", {"tests/b.cpp": "// [snippet: a]\n// [snippet: b]\n// [end]\n"}),
    ("the end of no region", {"tests/b.cpp": "// [end]\n"}),
    ("begins with a line", {"tests/b.cpp": "//[snippet: a]\n"}),
]

if __name__ == "__main__":
    common.main(__doc__, check, GOOD, BAD)
