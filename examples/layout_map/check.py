#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What layout_map answers, refuses and draws, and that docs/layouts.md says and shows the same.

check.py PROGRAM answers|refusals|drawings|documents     compare
check.py PROGRAM write                                   draw docs/drawings anew
"""
import itertools
import math
import pathlib
import re
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
LAYOUTS = ("shuffled_keys", "shuffled_values", "transposed_values", "token_rows")
DRAWINGS = {
    "shuffled_keys.svg": ["shuffled_keys", "--head-size", "32"],
    "shuffled_keys_fp8.svg": ["shuffled_keys", "--head-size", "32", "--element", "fp8"],
    "shuffled_values.svg": ["shuffled_values", "--head-size", "32"],
    "shuffled_values_fp8.svg": ["shuffled_values", "--head-size", "32", "--element", "fp8"],
    "token_rows.svg": ["token_rows", "--head-size", "32"],
    "transposed_values.svg": ["transposed_values", "--head-size", "32"],
}
# Addresses that a reader can check by hand: arguments, offset in the span, element of the cache.
BY_HAND = [
    ("shuffled_keys --token 3 --dim 9", 153, 153),
    ("shuffled_keys --element fp8 --token 3 --dim 17", 305, 305),
    ("shuffled_values --token 9 --dim 3", 1049, 1049),
    ("shuffled_values --element fp8 --token 9 --dim 3", 57, 57),
    ("transposed_values --token 9 --dim 3", 57, 57),
    ("token_rows --token 9 --dim 3", 1155, 1155),
    ("token_rows --page-size 1 --token 9 --dim 3", 3, 1155),
    ("shuffled_keys --heads 4 --token 37 --head 2 --dim 9", 169, 20649),
    ("shuffled_keys --token 2147483647 --dim 127", 2047, 274877906943),
]
REFUSALS = [
    ("", "the layout is empty, but must be one of shuffled_keys, shuffled_values, "),
    ("shuffled", "the layout is shuffled, but must be one of shuffled_keys, "),
    ("token_rows --page 16", "an argument is --page, but must be one of --element, --head-size, "),
    ("token_rows --dim", "--dim is without a value, but must be followed by one"),
    ("token_rows --element int8", "--element is int8, but must be one of bf16, fp16, fp8"),
    ("token_rows --head-size 100", "--head-size is 100, but must be one of 16, 32, 64, "),
    ("token_rows --page-size 12", "--page-size is 12, but must be one of 1, 8, 16, 32, "),
    ("shuffled_keys --page-size 1", "--page-size is 1, but must be a multiple of 8 for shuffled_keys of bf"),
    ("shuffled_values --element fp8 --page-size 8", "--page-size is 8, but must be a multiple of 16 for sh"),
    ("transposed_values --page-size 1", "--page-size is 1, but must be a multiple of 8 for transposed_val"),
    ("token_rows --token -1", "--token is -1, but must be a whole number from 0 to 2147483647"),
    ("token_rows --token 2147483648", "--token is 2147483648, but must be a whole number from 0 to "),
    ("token_rows --dim 1.5", "--dim is 1.5, but must be a whole number from 0 to 127"),
    ("token_rows --dim 32 --head-size 32", "--dim is 32, but must be a whole number from 0 to 31"),
    ("token_rows --head 4 --heads 4", "--head is 4, but must be a whole number from 0 to 3"),
    ("token_rows --heads 0", "--heads is 0, but must be a whole number from 1 to 1024"),
    ("token_rows --head-size 32 --svg /nowhere/a.svg", "--svg is /nowhere/a.svg, but must be a file that "),
    ("token_rows --page-size 64 --svg a.svg", "the span of --svg is 8192 elements, but must be at most 4096"),
]


def run(program, arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True)


def evaluate(formula, **names):
    """A formula of whole numbers, whose / is that of C++."""
    return eval(formula.replace("/", "//"), {"__builtins__": {}}, names)


def located(program, arguments):
    """(offset in the span, element of the cache) as the program says."""
    told = run(program, arguments).stdout
    found = re.search(r"in the span: offset (\d+)\n  in the cache: .* = element (\d+),", told)
    return (int(found.group(1)), int(found.group(2))) if found else (None, None)


def arguments_of(layout, element, head_size, page_size, slot, dim):
    sizes = ["--element", element, "--head-size", str(head_size), "--page-size", str(page_size)]
    return [layout, *sizes, "--token", str(slot), "--dim", str(dim)]


def sizes_and_places():
    """(x, element, head size, page size, slot, dim) that tell one formula from another."""
    elements = ((8, "bf16"), (16, "fp8"))
    for (x, element), head_size, page_size in itertools.product(elements, (32, 128), (16, 64)):
        for slot, dim in ((0, 0), (3, 9), (15, 31), (page_size - 1, head_size - 1), (5, 16), (9, 1)):
            yield x, element, head_size, page_size, slot, dim


def answers(program):
    problems = []
    for text, offset, element in BY_HAND:
        found = located(program, text.split())
        if found != (offset, element):
            problems.append(f"{text}: expected {(offset, element)}, but found {found}")
    for layout in LAYOUTS:
        for x, element, head_size, page_size, slot, dim in sizes_and_places():
            arguments = arguments_of(layout, element, head_size, page_size, slot, dim)
            formula = re.search(r"offset\(slot, dim\) = (.*)", run(program, arguments).stdout).group(1)
            expected, found = evaluate(formula, slot=slot, dim=dim), located(program, arguments)[0]
            if expected != found:
                problems.append(f"{' '.join(arguments)}: {formula} gives {expected}, the layout {found}")
    return problems


def refusals(program):
    problems = []
    for text, words in REFUSALS:
        done = run(program, text.split())
        if done.returncode != 2 or not done.stderr.startswith(f"layout_map: {words}"):
            problems.append(f"'{text}': expected 2 and '{words}', got {done.returncode} and '{done.stderr}'")
    return problems


def drawings(program):
    problems = []
    kept = {p.name for p in (DOCS / "drawings").glob("*")}
    problems += [f"docs/drawings/{name}: not in check.py's list" for name in sorted(kept - set(DRAWINGS))]
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in DRAWINGS.items():
            drawn, kept = pathlib.Path(folder) / name, DOCS / "drawings" / name
            done = run(program, [*arguments, "--svg", str(drawn)])
            if done.returncode != 0:
                problems.append(f"{name}: {done.stderr}")
            elif not kept.exists() or kept.read_bytes() != drawn.read_bytes():
                problems.append(f"docs/drawings/{name} is stale: examples/layout_map/check.py PROGRAM write")
    return problems


def table_rows(text, column):
    """The cells of each row of the table whose first heading is `column`, without backticks."""
    table = re.search(rf"^\| {column} \|.*\n\|[-| ]+\|\n((?:\|.*\|\n)+)", text, re.M)
    lines = table.group(1).splitlines() if table else []
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def check_formulas(program, text):
    """The formulas of the layouts' table, in x, head_size and page_size."""
    rows = {row[0]: row[1] for row in table_rows(text, "layout")}
    problems = [f"the table of layouts has no {layout}" for layout in LAYOUTS if layout not in rows]
    for layout in set(LAYOUTS) & set(rows):
        for x, element, head_size, page_size, slot, dim in sizes_and_places():
            names = {"x": x, "head_size": head_size, "page_size": page_size, "slot": slot, "dim": dim}
            expected = evaluate(rows[layout], **names)
            found = located(program, arguments_of(layout, element, head_size, page_size, slot, dim))[0]
            if expected != found:
                problems.append(f"{rows[layout]} gives {expected}, but {layout} {found}: {names}")
                break
    return problems


def check_views(text):
    """The strides of each view are those of its tensor."""
    problems = []
    names = {"pages": 7, "page_size": 16, "heads": 5, "head_size": 128}
    rows = table_rows(text, "view")
    for title, tensor, page, head, token, values in rows:
        axes = [axis.strip() for axis in tensor.strip("[]").split(",")]
        sizes = dict(names, page_size=1) if "page_size" not in tensor else names
        extents = [evaluate(axis, **sizes) for axis in axes]
        strides = {axis: math.prod(extents[i + 1 :]) for i, axis in enumerate(axes)}
        for axis, formula in (("pages", page), ("heads", head), ("page_size", token)):
            if axis in strides and evaluate(formula, **sizes) != strides[axis]:
                problems.append(f"{title}: the stride of {axis} is {strides[axis]}, not {formula}")
        begin = strides.get("2", names["head_size"] if axes[-1] == "2 * head_size" else "another tensor")
        if begin != (values if values == "another tensor" else evaluate(values, **sizes)):
            problems.append(f"{title}: values begin at {begin}, not at {values}")
    return problems + ([] if len(rows) >= 5 else [f"{len(rows)} views in docs/layouts.md"])


def documents(program):
    text = (DOCS / "layouts.md").read_text()
    shown = set(re.findall(r"\]\(drawings/([^)]+)\)", text))
    problems = [f"docs/layouts.md shows no drawings/{name}" for name in sorted(set(DRAWINGS) - shown)]
    problems += [f"docs/layouts.md shows no drawing, {name}" for name in sorted(shown - set(DRAWINGS))]
    samples = re.findall(r"^```\n\$ layout_map (.*)\n((?:.*\n)*?)```$", text, re.M)
    for arguments, output in samples:
        told = run(program, arguments.split()).stdout
        if told != output:
            problems.append(f"docs/layouts.md: layout_map {arguments} says now\n{told}")
    if not samples:
        problems.append("docs/layouts.md shows no output of layout_map")
    return problems + check_formulas(program, text) + check_views(text)


def write(program):
    (DOCS / "drawings").mkdir(exist_ok=True)
    problems = []
    for name, arguments in DRAWINGS.items():
        done = run(program, [*arguments, "--svg", str(DOCS / "drawings" / name)])
        problems += [done.stderr] if done.returncode != 0 else []
    return problems


PARTS = {part.__name__: part for part in (answers, refusals, drawings, documents, write)}


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in PARTS:
        print(__doc__)
        sys.exit(2)
    problems = PARTS[sys.argv[2]](sys.argv[1])
    print("\n".join(problems) or "clean")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
