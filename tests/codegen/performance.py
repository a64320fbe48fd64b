#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/performance.md from the assembly: kernels, instructions a row, and a prediction for three machines.

performance.py [--check PAGE | --write PAGE] [--assembly FOLDER] -- COMPILER FLAG...
prints the tables; with --check fails unless the page holds them, word for word, between its two marks; with --write puts
them there. --assembly: SOURCE.ARCHITECTURE.s lie in that folder; else the sources are compiled.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

import isa

HERE = pathlib.Path(__file__).parent
BEGIN, END = "<!-- tables: scripts/isa.sh --tables -->", "<!-- end of tables -->"
ARCHITECTURES = ["gfx90a", "gfx942", "gfx950"]
SOURCES = ["insert", "insert_token_scales", "key_rows", "decode"]

Machine = collections.namedtuple("Machine", "name arch units hertz bytes_a_second flops_a_unit_and_cycle")
# From AMD's data sheets: compute units, peak engine clock, peak memory bandwidth, peak dense bf16 over units and clock.
MACHINES = [
    Machine("MI250X", "gfx90a", 220, 1.7e9, 3.2768e12, 1024),
    Machine("MI300X", "gfx942", 304, 2.1e9, 5.3e12, 2048),
    Machine("MI355X", "gfx950", 256, 2.4e9, 8.0e12, 4096),
]
PRODUCT_FLOPS = 2 * 16 * 16 * 16
QUERIES, KEYS, INDEX_ROWS = 64, 4, 5  # heads of MiniMax-M3: query, K and V each, index queries and the index key
ROW = 256  # bytes of a row of 128 in bf16


def short(name):
    """A kernel's name without what every name has."""
    inner = re.match(r"void kvloom::v0::hip::entry<(.*)>\(", name)
    name = re.sub(r"kvloom::v0::|detail::|contract::", "", inner.group(1) if inner else name)
    name = re.sub(r", \(insert_shape\)0|, (insert_launch|decode_work)<.*$", "", name)
    return name + ">" * (name.count("<") - name.count(">"))


def assembly(command, folder=None):
    """{architecture: {source: {kernel: isa.Kernel}}}"""
    def kernels(source, arch):
        path = folder / f"{source}.{arch}.s" if folder else HERE / f"kernels/{source}.cpp"
        return isa.parse(isa.assemble(path, arch, command), command[0])

    return {arch: {source: kernels(source, arch) for source in SOURCES} for arch in ARCHITECTURES}


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def kernels_table(report):
    """Registers, waves a SIMD and bytes of code of each ready kernel."""
    for source in SOURCES:
        if source == "key_rows":  # a loop around a part of a kernel, for the count alone
            continue
        for name in report[ARCHITECTURES[0]][source]:
            all_figures = [report[arch][source][name].figures for arch in ARCHITECTURES]
            yield [f"`{short(name)}`"] + [f"{f['vgpr_total']} / {f['occupancy']} / {f['code_bytes']}" for f in all_figures]


def turns(report):
    """[(turn, kernel pattern, {architecture: figures})] of each rule about a turn."""
    rules = json.loads((HERE / "rules.json").read_text())
    for rule in rules["kernels"]:
        if "turn" not in rule or rule["source"] not in SOURCES:
            continue
        found = {}
        for arch in ARCHITECTURES:
            fitting = [k for n, k in report[arch][rule["source"]].items() if re.search(rule["match"], n)]
            which = rules["turns"][rule["turn"]]
            found[arch] = max((isa.turn_figures(k.body, which) for k in fitting), key=lambda f: f["instructions"])
            found[arch]["rows"] = which["rows"]
        yield rule["turn"], rule["match"], found


def turns_table(found):
    rows = {}
    for turn, match, figures in found:
        rows[(turn, f"`{short(match)}`")] = [figures[arch]["instructions_a_row"] for arch in ARCHITECTURES]
    for names, numbers in rows.items():
        yield [*names, *numbers]


def work(figures, rows):
    """What some rows take of a compute unit: cycles of vector instructions (four for transcendental ones) and of scalar
    ones, matrix products, vector memory instructions."""
    share = rows / figures["rows"]
    valu = figures["valu"] - figures["mfma"] + 3 * figures["transcendental"]
    accesses = sum(count for kind, count in figures.items() if re.fullmatch(r"(load|store)\d+", kind))
    return collections.Counter(
        vector=share * valu, scalar=share * figures["salu"], products=share * figures["mfma"], accesses=share * accesses
    )


def prediction(machine, what, moved, load):
    units = machine.units * machine.hertz
    cycles = {
        "memory": moved / machine.bytes_a_second,
        "vector": load["vector"] / units,
        "scalar": load["scalar"] / units,
        "matrix": load["products"] * PRODUCT_FLOPS / machine.flops_a_unit_and_cycle / units,
    }
    bound = max(cycles, key=cycles.get)
    rates = [f"{1e-6 / cycles[unit]:.4g}" if cycles[unit] else "-" for unit in cycles]
    counts = [f"{load[kind]:.4g}" for kind in ("vector", "scalar", "products", "accesses")]
    return [what, machine.name, moved, *counts, *rates, bound]


def predictions(found):
    by_turn = {(turn, match): figures for turn, match, figures in found}

    def get(turn, kernel, machine):
        return next(f for (t, m), f in by_turn.items() if t == turn and kernel in m)[machine.arch]

    for machine in MACHINES:
        own = "fp8_e4m3," if machine.arch == "gfx950" else "fp8_e4m3_fnuz,"
        for name, cache, bytes_a_value in [("bf16", "bf16", 2), ("fp8", f"{own} kvloom::v0::contract::aiter_unit", 1)]:
            rows_read = QUERIES + 2 * KEYS + INDEX_ROWS
            moved = ROW * (rows_read + QUERIES + INDEX_ROWS) + 2 * KEYS * 128 * bytes_a_value
            load = work(get("query rows", "insert_long", machine), QUERIES)
            load += work(get("key rows", cache, machine), KEYS)
            load += work(get("key rows", "bf16", machine), INDEX_ROWS)
            load += work(get(f"a run of V in {name}", cache, machine), KEYS)
            yield prediction(machine, f"insert, {name} cache", moved, load)
    for machine in MACHINES:
        own = "fp8_e4m3>" if machine.arch == "gfx950" else "fp8_e4m3_fnuz>"
        for name, kernel, moved in [("bf16", "bf16_decode", 2 * ROW), ("fp8", own, ROW)]:
            load = work(get(f"pages in {name}", kernel, machine), 1)
            yield prediction(machine, f"decode, {name} cache", moved, load)


def page(command, folder):
    report = assembly(command, folder)
    found = list(turns(report))
    yield from ["", "Vector registers / waves a SIMD / bytes of code:", ""]
    yield from table(["kernel", *ARCHITECTURES], kernels_table(report))
    yield from ["", "Instructions a row, waits included:", ""]
    yield from table(["turn", "kernel", *ARCHITECTURES], turns_table(found))
    what = "Prediction for a token (insert: all heads; decode: one KV head, up to 16 query rows), in tokens a microsecond:"
    yield from ["", what, ""]
    head = ["kernel", "machine", "bytes", "vector", "scalar", "products", "accesses", "by memory", "by vector", "by scalar", "by matrix", "bound"]
    yield from table(head, predictions(found))
    yield ""


def main():
    own, command = isa.split_arguments(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--assembly", type=pathlib.Path)
    options = parser.parse_args(own)
    printed = "\n".join(page(command, options.assembly))
    target = options.check or options.write
    if target is None:
        print(printed)
        return
    text = target.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"FAILED {target.name}: wants one line '{BEGIN}' and one '{END}'")
    before, shown, after = re.split(f"{re.escape(BEGIN)}|{re.escape(END)}", text)
    if options.write:
        target.write_text(f"{before}{BEGIN}\n{printed}\n{END}{after}")
        return
    shown = shown.strip("\n")
    for number, (was, now) in enumerate(zip(shown.split("\n") + [""], printed.strip("\n").split("\n") + [""])):
        if was != now:
            where = f"line {number + 1} of the tables"
            sys.exit(f"FAILED {target.name}: {where} is\n  {was}\nand scripts/isa.sh --tables prints\n  {now}")
    if shown != printed.strip("\n"):
        sys.exit(f"FAILED {target.name}: the tables have another length than what scripts/isa.sh --tables prints")


if __name__ == "__main__":
    main()
