# SPDX-License-Identifier: MIT
"""What the repository checks share: finding sources, stripping comments, and the self-test that feeds bad samples."""
import argparse
import pathlib
import re
import sys
import tempfile

CODE_FOLDERS = ("include", "tests", "bench", "examples")


def sources(root, folders=CODE_FOLDERS, suffixes=(".hpp", ".cpp")):
    """All files below the folders of root with one of the suffixes, sorted."""
    found = []
    for folder in folders:
        found += [p for p in (root / folder).rglob("*") if p.is_file() and p.suffix in suffixes]
    return sorted(found)


TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'"""
    # An apostrophe between digits separates them: it opens no character.
    r"""|\b[0-9](?:'?[0-9A-Za-z_.])*""",
    re.S,
)


def blank(text):
    """The text with comments and what strings hold replaced by spaces; lines stay where they were."""

    def hide(match):
        token = match.group(0)
        if token[0].isdigit():
            return token
        hidden = re.sub(r"[^\n]", " ", token)
        if token.startswith("/"):
            return hidden
        return '"' + hidden[2:] + '"' if len(hidden) >= 2 else hidden

    return TOKENS.sub(hide, text)


def without_directives(text):
    """Blanked text whose preprocessor lines are empty too."""
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.M)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def includes(text):
    """(line, name, whether quoted) of each include of a file's text."""
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', text, re.M):
        yield line_of(text, match.start()), match.group(1) or match.group(2), match.group(1) is not None


def run_self_test(check, good, bad):
    """good: {path: text} that must be clean; bad: [(word of the problem, {path: text})], where it must be found."""

    def problems_of(files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check(root)

    failures = [f"clean sample was refused: {p}" for p in problems_of(good)]
    for word, files in bad:
        problems = problems_of({**good, **files})
        if not any(word in p for p in problems):
            failures.append(f"bad sample passed: no problem says '{word}' about {', '.join(files)}; said: {problems}")
    return failures


def main(description, check, good, bad):
    """Command line of a check: prints its problems, or with --self-test those of the check itself."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--self-test", action="store_true", help="feed the check samples that it must refuse")
    options = parser.parse_args()
    problems = run_self_test(check, good, bad) if options.self_test else check(options.root)
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problem{'' if len(problems) == 1 else 's'}" if problems else "clean")
    sys.exit(1 if problems else 0)
