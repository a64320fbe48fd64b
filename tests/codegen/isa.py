#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What clang's assembly says of each AMD kernel: registers, spills, LDS, occupancy, code size, instructions by kind.

isa.py [--arch NAME]... [--match REGEX] [--figures] SOURCE.cpp|FILE.s... [-- COMPILER FLAG...]
prints a table; --figures adds every figure that a rule of rules.json may name. Occupancy is waves per SIMD.
"""
import argparse
import collections
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

import dataflow
import loops

# Kinds of instruction, first match wins; a name that ends in a colon is completed by the bytes of the access.
KINDS = [
    ("mfma", re.compile(r"v_(mfma|smfmac|wmma|swmmac)")),
    ("atomic", re.compile(r"(global|buffer)_atomic")),
    ("lds_dma", re.compile(r"(global|buffer)_load_\S*lds|\S+ .*\blds$")),
    ("load:", re.compile(r"(global|buffer)_load")),
    ("store:", re.compile(r"(global|buffer)_store")),
    ("scalar_load", re.compile(r"s_(buffer_)?load")),
    ("transcendental", re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")),
    ("dpp", re.compile(r"v_\S+_dpp|.*\b(row_\w+|quad_perm|wave_\w+):")),
    ("readlane", re.compile(r"v_(readlane|readfirstlane|writelane)")),
    ("barrier", re.compile(r"s_barrier")),
    ("wait", re.compile(r"s_wait")),
    ("branch", re.compile(r"s_(c?branch|setpc|swappc|call)")),
]
# Counted beside the kinds, by the start of the instruction.
PREFIXES = {"flat": "flat_", "scratch": "scratch_", "ds": "ds_", "valu": "v_", "salu": "s_", "permute": "v_perm", "clamp": "v_med3_f32"}
WIDTHS = [
    (re.compile(r"byte|_[ui]8|_b8"), 1),
    (re.compile(r"short|_[ui]16|_b16"), 2),
    (re.compile(r"dwordx4|b128"), 16),
    (re.compile(r"dwordx3|b96"), 12),
    (re.compile(r"dwordx2|b64"), 8),
    (re.compile(r"dword|b32"), 4),
]


def width(operation):
    return next((w for pattern, w in WIDTHS if pattern.search(operation)), 0)


def pending_at_mfma(codes):
    """Vector loads that may be outstanding at a matrix product: the least that a wait just before one leaves; 0 without."""
    least, waited = None, None
    for code in codes:
        wait = re.match(r"s_waitcnt.*vmcnt\((\d+)\)", code)
        if wait:
            waited = int(wait.group(1))
        elif code.startswith("v_mfma"):
            least = waited if waited is not None and (least is None or waited < least) else least
            waited = None
        elif not code.startswith(("s_nop", "v_mov", "v_accvgpr")):
            waited = None
    return least or 0


def count_instructions(codes):
    """Counter of kinds of instructions."""
    counts = collections.Counter()
    for code in codes:
        operation = code.split()[0]
        counts["instructions"] += 1
        for name, prefix in PREFIXES.items():
            counts[name] += operation.startswith(prefix)
        kind = next((k for k, pattern in KINDS if pattern.match(code)), None)
        if kind:
            counts[f"{kind[:-1]}{width(operation)}" if kind.endswith(":") else kind] += 1
    return counts


def turn_figures(body, which):
    """Figures of one turn of the loop that a rule means, with instructions_a_row and those of its products. Raises LookupError where there is no such loop.

    `which`: holds {figure: exact number, or a list of them}, mark (named by a comment "; turn of MARK"), rows of a turn. Where
    loops lie in each other, the innermost that fits is meant.
    """
    blocks, found = loops.blocks_of(body), []
    for loop in loops.loops_of(blocks):
        codes = loops.turn(blocks, loop)
        counts = count_instructions(codes)
        marks = [mark for number in loop.blocks for mark in blocks[number].marks]
        held = all(counts[k] in (v if isinstance(v, list) else [v]) for k, v in which.get("holds", {}).items())
        if held and which.get("mark") in [None, *marks]:
            found.append((loop, codes))
    if not found:
        raise LookupError(f"no loop with {which}")
    (largest, _), (smallest, _) = found[0], found[-1]
    if not all(smallest.blocks <= loop.blocks <= largest.blocks for loop, _ in found):
        raise LookupError(f"{len(found)} loops apart from each other with {which}")
    codes = found[-1][1]
    figures = count_instructions(codes)
    figures.update(dataflow.product_figures(codes), pending_at_mfma=pending_at_mfma(codes))
    figures["instructions_a_row"] = round(figures["instructions"] / which["rows"], 1)
    return figures


def metadata(text):
    """{symbol: {key: value}} of the .amdgpu_metadata block: its flat keys of each kernel."""
    kernels, current = {}, None
    for line in text[text.find(".amdgpu_metadata") :].splitlines():
        if re.match(r"  - \S", line):
            current = {}
        found = re.match(r"(?:  - |    )\.(\w+):\s*(\S+)$", line)
        if found and current is not None:
            key, value = found.group(1), found.group(2).strip("'")
            current[key] = int(value) if value.isdigit() else value
            if key == "symbol":
                kernels[value.removesuffix(".kd")] = current
    return kernels


def demangle(names, compiler=None):
    folder = pathlib.Path(shutil.which(compiler) or "/").resolve().parent if compiler else pathlib.Path("/")
    tools = [str(folder / "llvm-cxxfilt"), *(f"llvm-cxxfilt-{v}" for v in range(29, 18, -1)), "c++filt"]
    tool = next((t for t in tools if shutil.which(t)), None)
    if not tool or not names:
        return dict(zip(names, names))
    told = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, told.splitlines()))


@dataclasses.dataclass
class Kernel:
    figures: collections.Counter
    body: str


def parse(text, compiler=None):
    """{demangled name: Kernel} of one architecture's assembly."""
    kernels = metadata(text)
    readable = demangle(list(kernels), compiler)
    report = {}
    for symbol, info in kernels.items():
        start = re.search(rf"^{re.escape(symbol)}:", text, re.M)
        if not start:
            continue
        end = text.find(".Lfunc_end", start.end())
        tail = text[end : text.find("\t.text", end)]
        occupancy = re.search(r";\s*Occupancy:\s*(\d+)", tail)
        code_bytes = re.search(r";\s*codeLenInByte = (\d+)", tail)
        accumulators, registers = info.get("agpr_count", 0), info.get("vgpr_count", 0)
        body = text[start.end() : end]
        codes = list(filter(None, map(loops.instruction, body.splitlines())))
        figures = count_instructions(codes)
        figures.update({
            "vgpr": registers - accumulators if registers > accumulators else registers,
            "agpr": accumulators,
            "vgpr_total": registers,
            "sgpr": info.get("sgpr_count", 0),
            "vgpr_spill": info.get("vgpr_spill_count", 0),
            "sgpr_spill": info.get("sgpr_spill_count", 0),
            "scratch_bytes": info.get("private_segment_fixed_size", 0),
            "lds_bytes": info.get("group_segment_fixed_size", 0),
            "threads": info.get("max_flat_workgroup_size", 0),
            "occupancy": int(occupancy.group(1)) if occupancy else 0,
            "code_bytes": int(code_bytes.group(1)) if code_bytes else 0,
            "pending_at_mfma": pending_at_mfma(codes),
        })
        report[readable[symbol]] = Kernel(figures, body)
    return report


def assemble(source, arch, command):
    """The assembly of a source, or of a .s file as it is. Raises RuntimeError with the compiler's words."""
    if source.suffix == ".s":
        return source.read_text()
    line = [*command, "-S", "--offload-device-only", f"--offload-arch={arch}", str(source), "-o", "-"]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"{' '.join(line)}\n{done.stderr}")
    return done.stdout


def split_arguments(arguments):
    """What stands before and after the '--'."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:cut], arguments[cut + 1 :]


def main():
    own, command = split_arguments(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", action="append", help="may be repeated; gfx90a, gfx942 and gfx950 if left out")
    parser.add_argument("--match", default="", help="only kernels whose name this regular expression finds")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("sources", type=pathlib.Path, nargs="+")
    options = parser.parse_args(own)

    row = "{:>7} {:>5} {:>5} {:>5} {:>6} {:>7} {:>6} {:>9} {:>6} {:>5}  {}"
    print(row.format("arch", "VGPR", "AGPR", "SGPR", "spills", "scratch", "LDS", "waves/EU", "code B", "insts", "kernel"))
    for source in options.sources:
        for arch in options.arch or (["-"] if source.suffix == ".s" else ["gfx90a", "gfx942", "gfx950"]):
            for name, kernel in parse(assemble(source, arch, command), command[0] if command else None).items():
                f = kernel.figures
                if not re.search(options.match, name):
                    continue
                spills = f["vgpr_spill"] + f["sgpr_spill"]
                print(row.format(arch, f["vgpr"], f["agpr"], f["sgpr"], spills, f["scratch_bytes"], f["lds_bytes"],
                                 f["occupancy"], f["code_bytes"], f["instructions"], name))
                if options.figures:
                    print("        " + "  ".join(f"{k} {v}" for k, v in sorted(f.items()) if v))


if __name__ == "__main__":
    main()
