#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What kvloom adds to the flags of a consumer's plain C++ files.

flags.py COMMANDS.json --reference TARGET --exact TARGET --targets TARGET...

Compares the compile commands of targets with those of a reference that has nothing but cxx_std_17. All may
add include folders, and all but the exact one definitions.
"""
import argparse
import json
import os
import re
import shlex
import sys

INCLUDES = ("-I", "-isystem")


def commands_by_target(entries):
    """{target: flags} of the compile commands, without the compiler, the source and the output."""
    found = {}
    for entry in entries:
        words = entry.get("arguments") or shlex.split(entry["command"])
        target = re.search(r"CMakeFiles/([^/]+)\.dir/", " ".join(words))
        flags, skip = [], False
        for word in words[1:]:
            if skip or word in ("-o", "-c", entry["file"]):
                skip = word == "-o" and not skip
                continue
            flags.append(word)
        found[target.group(1) if target else "?"] = flags
    return found


def added_flags(flags, reference):
    """What flags holds beyond the reference, an include folder as one ('-isystem', folder) each."""
    left, added, at = list(reference), [], 0
    while at < len(flags):
        word = flags[at]
        if word in INCLUDES:
            added.append((word, flags[at + 1]))
            at += 1
        elif word.startswith(INCLUDES):
            length = next(len(option) for option in INCLUDES if word.startswith(option))
            added.append((word[:length], word[length:]))
        elif word in left:
            left.remove(word)
        else:
            added.append((word, None))
        at += 1
    return added, left


def check(entries, reference, exact, targets, exists=os.path.isdir):
    commands = commands_by_target(entries)
    problems = [f"no compile command of {t}" for t in (reference, exact, *targets) if t not in commands]
    for target in sorted({exact, *targets} & set(commands) if reference in commands else ()):
        added, lost = added_flags(commands[target], commands[reference])
        problems += [f"{target}: lost {flag}" for flag in lost]
        folders = [folder for _, folder in added if folder is not None]
        problems += [f"{target}: folder {folder} does not exist" for folder in folders if not exists(folder)]
        others = [word for word, folder in added if folder is None]
        if target != exact:
            others = [word for word in others if not word.startswith("-D")]
        problems += [f"{target}: added {word}" for word in others]
        if target == exact and len(folders) != 1:
            problems.append(f"{target}: {len(folders)} include folders, but one is kvloom's")
    return problems


def entry(target, flags):
    command = f"/usr/bin/c++ {flags} -o CMakeFiles/{target}.dir/a.cpp.o -c /x/a.cpp"
    return {"file": "/x/a.cpp", "command": command}


def self_test():
    """Problems of the check itself: clean commands that it refuses, and bad ones that it passes."""
    base = [entry("reference", "-std=gnu++17"), entry("plain", "-isystem /k/include -std=gnu++17")]
    host = entry("host", "-std=gnu++17")
    samples = [
        ("", base + [entry("host", "-DBOOST_ALL_NO_LIB -I/k/include -std=gnu++17")]),
        ("added -Wall", base + [entry("host", "-Wall -I/k/include -std=gnu++17")]),
        ("added hip", base + [entry("host", "-x hip -I/k/include -std=gnu++17")]),
        ("added --offload-arch=gfx942", base + [entry("host", "--offload-arch=gfx942 -std=gnu++17")]),
        ("added -std=c++20", base + [entry("host", "-std=c++20")]),
        ("lost -std=gnu++17", base + [entry("host", "-I/k/include")]),
        ("plain: added -DA", [base[0], entry("plain", "-DA -I/k/include -std=gnu++17"), host]),
        ("0 include folders", [base[0], entry("plain", "-std=gnu++17"), host]),
        ("/gone does not exist", base + [entry("host", "-I/gone -std=gnu++17")]),
        ("no compile command of host", base),
    ]
    problems = []
    for words, entries in samples:
        found = check(entries, "reference", "plain", ["host"], exists=lambda folder: folder != "/gone")
        if bool(found) != bool(words) or not any(words in p for p in found or [""]):
            problems.append(f"expected '{words}', but found {found}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--self-test", action="store_true", help="feed it commands that it must refuse")
    parser.add_argument("--reference")
    parser.add_argument("--exact")
    parser.add_argument("commands", nargs="?")
    parser.add_argument("--targets", nargs="*", default=[])
    options = parser.parse_args()
    if options.self_test:
        problems = self_test()
    else:
        with open(options.commands) as file:
            entries = json.load(file)
        problems = check(entries, options.reference, options.exact, options.targets)
        print("targets:", *sorted({options.exact, *options.targets}))
    print("\n".join(problems) or "clean")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
