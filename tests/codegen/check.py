#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the assembly of ready kernels against rules.json.

check.py --arch NAME SOURCE.cpp|FILE.s... -- COMPILER FLAG...
check.py --arch NAME --self-test REFUSED.cpp... -- COMPILER FLAG...
With --self-test each source must break exactly the rules that its comment "// breaks: FIGURE..." names.
"""
import argparse
import json
import pathlib
import re
import sys

import isa

CDNA = ["gfx90a", "gfx942", "gfx950"]  # what a rule is about that names no architecture
RULES = pathlib.Path(__file__).with_name("rules.json")


def load_rules():
    rules = json.loads(RULES.read_text())
    for rule in [rules["every kernel"], rules["every kernel of wave32"], *rules["kernels"]]:
        unknown = set(rule) - {"note", "source", "match", "arch", "at_most", "at_least", "turn", "a_row"}
        if unknown:
            sys.exit(f"{RULES.name}: unknown key {', '.join(sorted(unknown))}")
        if rule.get("turn", next(iter(rules["turns"]))) not in rules["turns"]:
            sys.exit(f"{RULES.name}: no turn is called {rule['turn']}")
    return rules


def broken(rule, figures):
    """(figure, what it is, what the rule wants) of each bound that the figures break."""
    for figure, bound in rule.get("at_most", {}).items():
        if figures[figure] > bound:
            yield figure, figures[figure], f"at most {bound}"
    for figure, bound in rule.get("at_least", {}).items():
        if figures[figure] < bound:
            yield figure, figures[figure], f"at least {bound}"


def turn_rule(kernel, arch, rule, turns):
    """Figures of the loop that a rule means, and the rule with the bound for this architecture."""
    if arch not in rule["a_row"]:
        raise LookupError(f"no bound for {arch}")
    figures = isa.turn_figures(kernel.body, turns[rule["turn"]])
    print(f"{arch} {figures['instructions_a_row']:5} instructions a row: {rule['turn']}, {rule['match']}")
    return figures, {**rule, "at_most": {"instructions_a_row": rule["a_row"][arch], **rule.get("at_most", {})}}


def check(source, arch, report, rules):
    """(figure or None, line to print) of each broken rule of one source's kernels."""
    problems = [] if report else [(None, f"{source.name} {arch}: no kernel in it")]
    bounds, own_bounds = [], {name: set() for name in report}
    for rule in rules["kernels"]:
        if rule["source"] != source.name.split(".")[0] or arch not in rule.get("arch", CDNA):
            continue
        matching = [name for name in report if re.search(rule["match"], name)]
        if not matching:
            problems.append((None, f"{source.name} {arch}: no kernel matches the rule for '{rule['match']}'"))
        bounds += [(name, rule) for name in matching]
        for name in matching:
            own_bounds[name] |= set(rule.get("at_most", {})) if "turn" not in rule else set()
    for name in report:  # what a rule of its own allows a kernel stands above what is allowed to every one
        general = rules["every kernel" if arch in CDNA else "every kernel of wave32"]
        at_most = {k: v for k, v in general["at_most"].items() if k not in own_bounds[name]}
        bounds.append((name, {**general, "at_most": at_most}))
    for name, rule in bounds:
        figures = report[name].figures
        if "turn" in rule:
            try:
                figures, rule = turn_rule(report[name], arch, rule, rules["turns"])
            except LookupError as failure:
                problems.append(("turn", f"{name}\n    {arch}: {rule['turn']}: {failure}"))
                continue
        for figure, value, wanted in broken(rule, figures):
            what = f"{rule['turn']}: {figure}" if "turn" in rule else figure
            problems.append((figure, f"{name}\n    {arch}: {what} is {value}; the rule: {wanted}"))
    return problems


def self_test(source, problems):
    """What is wrong with the rules broken by a source that must break some."""
    wanted = re.search(r"// breaks: (.*)", source.read_text())
    wanted = set(wanted.group(1).split()) if wanted else set()
    got = {figure for figure, _ in problems}
    return [] if wanted and wanted == got else [f"{source.name}: breaks {sorted(map(str, got))}, not {sorted(wanted)}"]


def main():
    own, command = isa.split_arguments(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("sources", type=pathlib.Path, nargs="+")
    options = parser.parse_args(own)

    rules, failures = load_rules(), []
    for source in options.sources:
        try:
            text = isa.assemble(source, options.arch, command)
        except RuntimeError as failure:
            failures.append(f"{source.name} {options.arch}: does not compile without a word\n{failure}")
            continue
        report = isa.parse(text, command[0] if command else None)
        problems = check(source, options.arch, report, rules)
        failures += self_test(source, problems) if options.self_test else [line for _, line in problems]
        for name, kernel in report.items():
            f = kernel.figures
            print(f"{options.arch} VGPR {f['vgpr_total']} SGPR {f['sgpr']} waves {f['occupancy']} code {f['code_bytes']} B  {name}")
    for failure in failures:
        print(f"FAILED {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
