#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Braces around the body of every if, else, for, while and do: nvcc 13.0 can drop a statement where they are missing."""
import re

import common

KEYWORD = re.compile(r"\b(if|else|for|while|do)\b")


def skip_space(text, at):
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def skip_group(text, at, opening, closing):
    """Past the group that opens at text[at]."""
    depth = 0
    while at < len(text):
        depth += {opening: 1, closing: -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            break
    return at


def do_tails(text):
    """Places of each while that ends a do loop."""
    tails = set()
    for match in re.finditer(r"\bdo\b", text):
        at = skip_space(text, match.end())
        if text[at : at + 1] == "{":
            at = skip_space(text, skip_group(text, at, "{", "}"))
            if text.startswith("while", at):
                tails.add(at)
    return tails


def check_text(text):
    """(line, keyword) of each body without braces."""
    text = common.without_directives(common.blank(text))
    tails = do_tails(text)
    found = []
    for match in KEYWORD.finditer(text):
        word, at = match.group(1), skip_space(text, match.end())
        if match.start() in tails:
            continue
        if word in ("if", "for", "while"):
            if text.startswith("constexpr", at):
                at = skip_space(text, at + len("constexpr"))
            if text[at : at + 1] != "(":
                found.append((common.line_of(text, match.start()), word))
                continue
            at = skip_space(text, skip_group(text, at, "(", ")"))
        elif word == "else" and re.match(r"if\b", text[at:]):
            continue
        while text.startswith("[[", at):
            at = skip_space(text, skip_group(text, at, "[", "]"))
        if text[at : at + 1] != "{":
            found.append((common.line_of(text, match.start()), word))
    return found


def check(root):
    return [
        f"{path.relative_to(root)}:{line}: '{word}' without braces around its body"
        for path in common.sources(root)
        for line, word in check_text(path.read_text())
    ]


GOOD = {
    "include/a.hpp": """
        // if (a) b;
        char const* s = "if (x) y;"; int n = 1'000'000;
        #define M if (x) y
        void f() {
            if (a) { b; } else if (c) { d; } else { e; }
            if constexpr (a) { b; }
            if (a) [[likely]] { b; }
            for (int i = (0); i < n; ++i) { g(i); }
            while (h()) { }
            do { i(); } while (j());
        }
    """
}
BAD = [
    ("'if' without", {"tests/x.cpp": "void f() { if (a) b; }"}),
    ("'if' without", {"tests/x.cpp": "void f() { if constexpr (a) for (;;) { } }"}),
    ("'for' without", {"bench/x.cpp": "void f() { for (int i : l)\n g(i); }"}),
    ("'for' without", {"bench/x.cpp": "void f() { int a = 1'0; for (;;)\n#pragma unroll\n ++a; }"}),
    ("'while' without", {"examples/x.cpp": "void f() { while (a) b; }"}),
    ("'else' without", {"include/x.hpp": "void f() { if (a) { } else b; }"}),
    ("'do' without", {"include/x.hpp": "void f() { do b; while (a); }"}),
    ("x.hpp:3:", {"include/x.hpp": "/* if\n */ void f() {\n if (a) b; }"}),
]

if __name__ == "__main__":
    common.main(__doc__, check, GOOD, BAD)
