# SPDX-License-Identifier: MIT
"""The loops of one kernel's assembly, and the instructions that a wave executes in a turn of one.

Blocks and loops come from labels and branches alone (natural loops over dominators), not from the compiler's comments.
"""
import dataclasses
import re

LABEL = re.compile(r"^(\.L\w+):")
BRANCH = re.compile(r"s_(c?)branch\S*\s+(\.L\w+)")
ACCESS = re.compile(r"(global|buffer|flat|scratch|ds)_(load|store|read|write)|s_(buffer_)?load")
MARK = re.compile(r"^\s*; turn of (.+?)\s*$")


@dataclasses.dataclass
class Block:
    """A straight run of instructions. `next`: the blocks that may follow; `marks`: what "; turn of" comments name.

    `always`: that one of them which follows where each lane decides for itself whether it takes part.
    """

    code: list = dataclasses.field(default_factory=list)
    next: list = dataclasses.field(default_factory=list)
    always: int = None
    marks: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Loop:
    """`blocks` by number, those of loops inside it included; `inner`: the loops inside it, at any depth."""

    header: int
    blocks: set
    inner: list = dataclasses.field(default_factory=list)


def instruction(line):
    """The instruction of a line of assembly; empty where it has none."""
    code = line.split(";")[0].strip()
    return "" if code.startswith(".") or code.endswith(":") else code


def blocks_of(body):
    """The blocks of a kernel's text, in its order; the first is where it begins."""
    blocks, labels, targets = [Block()], {}, {}
    for line in body.splitlines():
        label, mark, code = LABEL.match(line), MARK.match(line), instruction(line)
        if label:
            if blocks[-1].code or blocks[-1].marks:
                blocks.append(Block())
            labels[label.group(1)] = len(blocks) - 1
        elif mark:
            blocks[-1].marks.append(mark.group(1))
        elif code:
            blocks[-1].code.append(code)
            if BRANCH.match(code) or code.startswith("s_endpgm"):
                targets[len(blocks) - 1] = code
                blocks.append(Block())
    for number, block in enumerate(blocks):
        code = targets.get(number, "")
        branch = BRANCH.match(code)
        if branch:
            block.next.append(labels[branch.group(2)])
        falls = not code or (branch and branch.group(1))
        if falls and number + 1 < len(blocks):
            block.next.append(number + 1)
        if len(block.next) == 2 and code.startswith("s_cbranch_exec"):
            skips = code.startswith("s_cbranch_execz")
            block.always = block.next[skips ^ only_nan_stays(block.code)]
    return blocks


def only_nan_stays(code):
    """Whether a block ends with a branch on lanes that a comparison of unordered numbers has left."""
    left = next((i for i in reversed(range(len(code))) if code[i].startswith("s_and_saveexec")), None)
    if left is None:
        return False
    mask = code[left].split()[-1]
    writer = next((c for c in reversed(code[:left]) if re.match(rf"\S+ {re.escape(mask)}(,|$)", c)), "")
    return writer.startswith("v_cmp_u_f32")


def dominators_of(blocks):
    """For each block that can be reached the set of blocks through which every way to it leads."""
    before = {0: []}
    waiting = [0]
    while waiting:
        number = waiting.pop()
        for following in blocks[number].next:
            if following not in before:
                before[following] = []
                waiting.append(following)
            before[following].append(number)
    dominators = {number: set(before) for number in before}
    dominators[0] = {0}
    changed = True
    while changed:
        changed = False
        for number in sorted(before):
            if number:
                common = set.intersection(*(dominators[p] for p in before[number])) | {number}
                changed = changed or common != dominators[number]
                dominators[number] = common
    return dominators, before


def loops_of(blocks):
    """The natural loops of a kernel, larger ones first."""
    dominators, before = dominators_of(blocks)
    found = {}
    for number in dominators:
        for header in blocks[number].next:
            if header in dominators[number]:
                inside, waiting = {header}, [number]
                while waiting:
                    at = waiting.pop()
                    if at not in inside:
                        inside.add(at)
                        waiting += before[at]
                found.setdefault(header, set()).update(inside)
    loops = sorted((Loop(header, inside) for header, inside in found.items()), key=lambda l: -len(l.blocks))
    for loop in loops:
        loop.inner = [other for other in loops if other is not loop and other.blocks < loop.blocks]
    return loops


def turn(blocks, loop):
    """The instructions of the steady way through one turn; a loop inside it makes one turn.

    Where all lanes branch together: the shortest of the ways with the most memory accesses, which is that of full tiles.
    Where each lane takes part or not: as if some do, unless the code is for NaN alone.
    """
    def follow(number):
        """The blocks that may follow in the same turn; None for the end of the turn."""
        block = blocks[number]
        for following in [block.always] if block.always is not None else block.next:
            again = any(inner.header == following and number in inner.blocks for inner in loop.inner)
            if following == loop.header:
                yield None
            elif following in loop.blocks and not again:
                yield following

    best = {None: (0, 0)}  # accesses, and instructions as a negative number, from a block on
    chosen = {}

    def weigh(number, trail):
        if number in trail:
            raise ValueError("a loop without a single header")
        if number not in best:
            ways = [(weigh(following, trail | {number}), following) for following in follow(number)]
            ways = [way for way in ways if way[0] is not None]
            best[number] = None
            if ways:
                (accesses, length), chosen[number] = max(ways, key=lambda way: way[0])
                code = blocks[number].code
                best[number] = (accesses + sum(bool(ACCESS.match(c)) for c in code), length - len(code))
        return best[number]

    weigh(loop.header, frozenset())
    way, at = [], loop.header
    while at is not None:
        way += blocks[at].code
        at = chosen[at]
    return way
