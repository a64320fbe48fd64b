#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the headers must refuse to compile, and with which sentence.

refusals.py FILE --include DIR -- COMPILER FLAG...    the wrong lines of a test file, then the file itself
refusals.py --complete --include DIR                  every static_assert below DIR has its test, and every test one
refusals.py --self-test -- COMPILER FLAG...           samples that both must find fault with

A test file mirrors the header whose static_asserts it tests and compiles as it stands, without a warning. In it

    // refuses: vec: N must be positive
    // wrong: vec<float, 0> numbers;
    vec<float, 1> numbers;

says that the line below, replaced by the wrong one (each, where there are several), fails to compile with a
static_assert of that sentence as its first error, and with no other. `// unreached: SENTENCE` stands for a static_assert
that no code breaks alone.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"^\s*// (refuses|wrong|unreached): (.+)$")
# As g++, clang and nvcc write it, with or without a sentence.
FAILED = re.compile(r"static assertion failed(?: due to requirement '.*?')?(?:: (.+)|(?: with) \"(.+)\")?$", re.M)
ERROR = re.compile(r"^.*\berror: (?!.*\[-Werror).*$", re.M)  # no warning
ASSERTION = re.compile(r"\bstatic_assert\s*\(")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[()]|[^"()]+')
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.S)


def refusals(text):
    """(sentence, line number from 0, wrong line) of each wrong line of a test file."""
    lines, found, sentence, wrong = text.split("\n"), [], None, []
    for number, line in enumerate(lines):
        mark = MARK.match(line)
        if mark and mark[1] == "refuses":
            sentence, wrong = mark[2], []
        elif mark and mark[1] == "wrong":
            wrong.append(mark[2])
        elif sentence is not None:
            found += [(sentence, number, instead) for instead in wrong] or [(sentence, number, None)]
            sentence = None
    return found


def compiled(text, name, command):
    """Exit status and messages of compiling this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        path.write_text(text)
        environment = {**os.environ, "LC_ALL": "C"}
        told = subprocess.run([*command, str(path)], capture_output=True, text=True, cwd=folder, env=environment)
        return told.returncode, told.stdout + told.stderr


def check_file(path, command):
    """Problems of a test file."""
    text, problems = path.read_text(), []
    cases = refusals(text)
    if not cases:
        problems.append(f"{path.name}: refuses nothing")
    code, told = compiled(text, path.name, command)
    if code != 0 or told:
        problems.append(f"{path.name}: must compile without a word, but:\n{told}")
    for sentence, number, wrong in cases:
        where = f"{path.name}:{number + 1}: {wrong}"
        if wrong is None:
            problems.append(f"{path.name}:{number + 1}: no wrong line for '{sentence}'")
            continue
        lines = text.split("\n")
        lines[number] = wrong
        code, told = compiled("\n".join(lines), path.name, command)
        said = {a or b for a, b in FAILED.findall(told)}
        if code == 0:
            problems.append(f"{where}\n  compiles, but must be refused: {sentence}")
        elif said != {sentence}:
            problems.append(f"{where}\n  must be refused with '{sentence}' alone, but: {sorted(said)}\n{told}")
        elif not FAILED.search(ERROR.search(told)[0]):
            problems.append(f"{where}\n  is an error before it is refused:\n{told}")
        else:
            print(f"refused: {wrong.strip()}\n         {sentence}")
    return problems


def assertions(text):
    """(line, sentence) of each static_assert of a header; the sentence is '' where there is none."""
    text = COMMENT.sub(lambda m: m[1] or re.sub(r"[^\n]", " ", m[0]), text)
    for match in ASSERTION.finditer(text):
        depth, sentence = 1, []
        for token in TOKEN.finditer(text, match.end()):
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            if depth == 0:
                break
            if token[0].startswith('"'):
                sentence.append(token[0][1:-1])
            elif token[0].strip():
                sentence = []
        yield text.count("\n", 0, match.start()) + 1, "".join(sentence)


def check_complete(include, folder):
    """Problems of the whole: static_asserts without a test or a sentence, tests without a static_assert."""
    problems = []
    base = include / "kvloom"
    headers = {p.relative_to(base).with_suffix(""): p for p in sorted(base.rglob("*.hpp"))}
    tests = {p.relative_to(folder).with_suffix(""): p for p in sorted(folder.rglob("*.cpp"))}
    total = 0
    for name in sorted({*headers, *tests}):
        marks = [MARK.match(l) for l in tests[name].read_text().split("\n")] if name in tests else []
        tested = collections.Counter(m[2] for m in marks if m and m[1] != "wrong")
        found = list(assertions(headers[name].read_text())) if name in headers else []
        for sentence in sorted({*tested} - {s for _, s in found}):
            problems.append(f"{folder.name}/{name.as_posix()}.cpp: no static_assert of its header says: {sentence}")
        for line, sentence in found:
            where = f"{headers[name].relative_to(include)}:{line}"
            total += 1
            if not re.match(r"\w+: \w", sentence):
                problems.append(f"{where}: a static_assert must have a sentence that begins with a name: '{sentence}'")
            elif tested[sentence] == 0:
                problems.append(f"{where}: no test in {folder.name}/{name.as_posix()}.cpp: {sentence}")
            else:
                tested[sentence] -= 1  # a sentence that stands twice has two tests
    print(f"{total} static_asserts in {len(headers)} headers, {len(tests)} test files")
    return problems + ([] if total else ["no static_assert found"])


HEADER = 'template <int N>\nstruct v {\n    static_assert(N > 0 && (N % 2) == 0,\n        "v: N must be even, "  // (\n        "2 (two) or more");\n};\n'
RIGHT = "v<2> numbers;\n"
TEST = "// refuses: v: N must be even, 2 (two) or more\n// wrong: v<0> numbers;\n// wrong: v<3> numbers;\n"
FILE_SAMPLES = [  # word of the problem ('' for none), the test's text
    ("", TEST + RIGHT),
    ("compiles, but", TEST.replace("<3>", "<4>") + RIGHT),
    ("must compile without a word", TEST + RIGHT.replace("2", "3")),
    ("must compile without a word", TEST + RIGHT + "inline void f() { int unused; }\n"),
    ("'v: N must be odd' alone", TEST.replace("even, 2 (two) or more", "odd") + RIGHT),
    ("alone, but: []", TEST.replace("v<3>", "w<3>") + RIGHT),
    ("alone, but: ['another', 'v", TEST.replace("v<3> numbers;", 'v<3> n; static_assert(sizeof(n) == 0, "another");') + RIGHT),
    ("alone, but: ['', 'v", TEST.replace("v<3> numbers;", "v<3> n; static_assert(sizeof(n) == 0);") + RIGHT),
    ("is an error before", TEST.replace("v<3>", "w a; v<3>") + RIGHT),
    ("no wrong line", "// refuses: v: N\n" + RIGHT),
    ("refuses nothing", RIGHT),
]
TREE_SAMPLES = [
    ("", HEADER, TEST),
    ("", HEADER + "// static_assert(false);\n", TEST),
    ("", HEADER + 'static_assert(sizeof(int) == 4, "v: odd int");\n', TEST + "// unreached: v: odd int\n"),
    ("no test in", HEADER, ""),
    ("no test in", HEADER + 'static_assert(true, "v: new");\n', TEST),
    ("no test in", HEADER + HEADER, TEST),
    ("no static_assert of its header", HEADER, TEST + "// refuses: v: old\n"),
    ("must have a sentence", HEADER + "static_assert(sizeof(int) == 4);\n", TEST),
    ("begins with a name", HEADER + 'static_assert(true, "wrong");\n', TEST + "// refuses: wrong\n"),
    ("no static_assert found", "", ""),
]


def self_test(command):
    """Problems of the checks themselves."""
    outcomes = []
    for word, text in FILE_SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "v.cpp"
            path.write_text(HEADER + text)
            outcomes.append((word, text, check_file(path, command)))
    for word, header, test in TREE_SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in (root / "include/kvloom/v.hpp", header), (root / "tests/v.cpp", test):
                path.parent.mkdir(parents=True)
                path.write_text(text)
            outcomes.append((word, test, check_complete(root / "include", root / "tests")))
    return [
        f"expected '{word}', but found {problems}, in\n{text}"
        for word, text, problems in outcomes
        if bool(problems) != bool(word) or not any(word in p for p in problems or [""])
    ]


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, nargs="?")
    parser.add_argument("--include", type=pathlib.Path)
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args(arguments[:cut])
    command = arguments[cut + 1 :]
    if options.self_test:
        problems = self_test(command)
    elif options.complete:
        problems = check_complete(options.include, FOLDER)
    else:
        problems = check_file(options.file, [*command, f"-I{options.include.resolve()}", f"-I{FOLDER}"])
    print("\n".join(problems) or "clean")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
