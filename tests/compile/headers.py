#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles each header alone, included twice: headers.py --include DIR [--only REGEX] [--exclude REGEX] -- COMPILER FLAG..."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="only headers whose path below the include folder matches")
    parser.add_argument("--exclude", default="", help="headers whose path below the include folder matches are left out")
    options = parser.parse_args(arguments[:cut])
    command = [*arguments[cut + 1 :], f"-I{options.include}", "-"]

    def compile_alone(name):
        text = f'#include "{name}"\n#include "{name}"\n'
        return name, subprocess.run(command, input=text, capture_output=True, text=True)

    names = sorted(p.relative_to(options.include).as_posix() for p in options.include.rglob("*.hpp"))
    names = [n for n in names if re.search(options.only, n)]
    names = [n for n in names if not options.exclude or not re.search(options.exclude, n)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in pool.map(compile_alone, names):
            if done.returncode != 0 or done.stderr:
                failed += 1
                print(f"FAILED {name}\n{done.stderr}")
    print(f"{len(names)} headers, {failed} failed: {' '.join(command)}")
    sys.exit(1 if failed or not names else 0)


if __name__ == "__main__":
    main()
