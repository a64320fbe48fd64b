# SPDX-License-Identifier: MIT
"""Where the operands of matrix products come from, in a turn of a loop that goes round and round."""
import re

REGISTERS = re.compile(r"\b([va])(?:(\d+)|\[(\d+):(\d+)\])")
MOVE = re.compile(r"v_(mov_b32|mov_b64|accvgpr_(read|write|mov))")
LOAD = re.compile(r"(global|buffer)_load_")
WRITES = re.compile(r"v_(?!cmp|readlane|readfirstlane)|(global|buffer|ds|scratch)_(load|read)")


def operands_of(code):
    """The registers of each operand of an instruction, as lists of names such as v7; other operands are empty."""
    found = []
    for operand in re.split(r",\s*(?![^\[]*\])", code.split(None, 1)[1] if " " in code or "\t" in code else ""):
        match = REGISTERS.match(operand.strip().lstrip("-|"))
        if match is None:
            found.append([])
        else:
            first = int(match.group(2) or match.group(3))
            found.append([f"{match.group(1)}{n}" for n in range(first, int(match.group(4) or first) + 1)])
    return found


def moved_from(code, index):
    """The register that a move copies into the one of that index of its result; None where the instruction is no move."""
    sources = operands_of(code)[1:]
    if code.startswith("v_pk_mov_b32"):
        halves = re.search(r"op_sel:\[(\d),(\d)\]", code)
        half = int(halves.group(index + 1)) if halves else 0
        return sources[index][half] if sources[index] else None
    return sources[0][index] if MOVE.match(code) and sources[0] else None


def origin_of(register, at, way, written):
    """How a register got what instruction `at` of the turn reads: loaded, moved (after a load), computed or constant."""
    moved, steps = False, 0
    while steps < 2 * len(way):  # a value may come from the turn before
        at, steps = (at - 1) % len(way), steps + 1
        if register not in written[at]:
            continue
        if LOAD.match(way[at]):
            return "moved" if moved else "loaded"
        register, moved = moved_from(way[at], written[at].index(register)), True
        if register is None:
            return "computed"
    return "constant"


def product_figures(way):
    """Of a turn's matrix products: loaded_products have an operand as a load left it, moved_products one that was moved
    after a load; computed_products have neither."""
    written = [operands_of(code)[0] if WRITES.match(code) else [] for code in way]
    figures = {"loaded_products": 0, "moved_products": 0, "computed_products": 0}
    for at, code in enumerate(way):
        if code.startswith("v_mfma"):
            of_operands = [{origin_of(r, at, way, written) for r in registers} for registers in operands_of(code)[1:3]]
            if {"loaded"} in of_operands:
                figures["loaded_products"] += 1
            elif any(origins and origins <= {"loaded", "moved"} for origins in of_operands):
                figures["moved_products"] += 1
            else:
                figures["computed_products"] += 1
    return figures
