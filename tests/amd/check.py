#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks through a plain AMD test program, or runs it without a device.

check.py [--nm NM] --processors gfx90a,... PROGRAM   its code objects and the calls that it needs
check.py --without-device PROGRAM                    it must fail, with a sentence
check.py --self-test [--nm NM] --processors ... PROGRAM OTHER
                                                     finds what is wrong in copies of PROGRAM, and in OTHER, which calls more

The code objects must be those of the processors, of version 5, in bundles that are not compressed; no kernel may need a
service of the host. Of HIP the program may call what every runtime has.
"""
import argparse
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

CALLS = re.compile(
    r"hip(Malloc|Free|Memcpy|Memset|LaunchKernel|DeviceSynchronize|GetLastError|GetDeviceCount"
    r"|GetDeviceProperties(R0600)?|Stream(Create|Destroy|Synchronize)|Event(Create|Destroy|Record|Synchronize|ElapsedTime))"
    r"|__hip(PushCallConfiguration|PopCallConfiguration|RegisterFatBinary|UnregisterFatBinary|RegisterFunction)"
)
PLAIN, COMPRESSED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
MACHINES = {0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950"}  # of e_flags
HSA, VERSION_5 = 64, 3  # of e_ident: OS ABI, ABI version
SERVICES = [b"hidden_hostcall_buffer", b"hidden_multigrid_sync_arg", b"hidden_heap_v1"]  # printf, grid-wide waits, malloc


def sections(elf):
    """{name: (offset, size)} of a 64-bit ELF file."""
    table, entry, count, names = struct.unpack_from("<Q", elf, 40) + struct.unpack_from("<HHH", elf, 58)
    heads = [struct.unpack_from("<IIQQQQ", elf, table + i * entry) for i in range(count)]
    start = heads[names][4]
    return {elf[start + h[0] : elf.index(b"\0", start + h[0])].decode(): (h[4], h[5]) for h in heads}


def code_objects(fat):
    """(target, bytes) of every code object in the bundles."""
    at = fat.find(PLAIN)
    while at >= 0:
        place = at + len(PLAIN) + 8
        for _ in range(struct.unpack_from("<Q", fat, place - 8)[0]):
            offset, size, length = struct.unpack_from("<QQQ", fat, place)
            target = fat[place + 24 : place + 24 + length].decode()
            place += 24 + length
            if "amdgcn" in target:
                yield target, fat[at + offset : at + offset + size]
        at = fat.find(PLAIN, at + 1)


def wrong_code(program, processors):
    """What is wrong with the code objects, in sentences."""
    elf = program.read_bytes()
    place = sections(elf).get(".hip_fatbin")
    if place is None:
        return ["it has no section .hip_fatbin"]
    fat = elf[place[0] : place[0] + place[1]]
    wrong = ["a bundle is compressed"] if re.search(rb"(?:^|\0)" + COMPRESSED, fat) else []
    found = set()
    for target, code in code_objects(fat):
        machine = MACHINES.get(struct.unpack_from("<I", code, 48)[0] & 0xFF, "unknown")
        found.add(machine)
        if not target.endswith(f"--{machine}"):
            wrong.append(f"the code object for {target} is one of {machine}")
        if code[7] != HSA or code[8] != VERSION_5:
            wrong.append(f"the code object for {target} has ABI {code[7]}.{code[8]}, not that of version 5")
        wrong += [f"a kernel for {target} needs {s.decode()}" for s in SERVICES if s in code]
    missing = set(processors) - found
    return wrong + ([f"there is no code for {', '.join(sorted(missing))}"] if missing else [])


def wrong_calls(program, nm):
    """Calls of HIP beyond those that every runtime has, in sentences."""
    told = subprocess.run([nm, "-D", "--undefined-only", str(program)], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in told.splitlines()}
    calls = {name for name in names if re.match(r"_*(hip|hsa|ro[cm])", name)}
    if "hipLaunchKernel" not in calls:
        return ["it launches nothing"]
    return [f"it calls {name}" for name in sorted(calls) if not CALLS.fullmatch(name)]


def look_through(program, options):
    return wrong_code(program, options.processors.split(",")) + wrong_calls(program, options.nm)


def run_without_device(program):
    hidden = {"HIP_VISIBLE_DEVICES": "-1", "ROCR_VISIBLE_DEVICES": "-1"}
    done = subprocess.run([str(program)], capture_output=True, text=True, env={**os.environ, **hidden}, timeout=120)
    lines = done.stdout.strip().splitlines()
    wrong = [] if done.returncode == 1 else [f"it exits with {done.returncode}"]
    if not any("needs an AMD GPU: " in line for line in lines):
        wrong.append("it does not say that it needs an AMD GPU")
    if not lines or not re.fullmatch(r"0 passed, [1-9]\d* failed, 0 skipped", lines[-1]):
        wrong.append("its last line is not '0 passed, N failed, 0 skipped'")
    return wrong


def self_test(program, other, options):
    """Damaged copies must be found wrong."""
    elf = program.read_bytes()
    bundle_at = sections(elf)[".hip_fatbin"][0]
    object_at = elf.index(b"\x7fELF", bundle_at)
    damaged = {
        "compressed": elf[:bundle_at] + COMPRESSED + elf[bundle_at + len(COMPRESSED) :],
        "ABI": elf[: object_at + 8] + bytes([VERSION_5 + 1]) + elf[object_at + 9 :],
        "is one of": elf[: object_at + 48] + b"\x41" + elf[object_at + 49 :],
        "hidden_hostcall_buffer": elf[: object_at + 64] + SERVICES[0] + elf[object_at + 64 + len(SERVICES[0]) :],
    }
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "program"
        for word, changed in damaged.items():
            copy.write_bytes(changed)
            if not any(word in sentence for sentence in wrong_code(copy, options.processors.split(","))):
                failed.append(f"a program that should be refused with '{word}' is not")
    if not any("no code for gfx1100" in sentence for sentence in wrong_code(program, ["gfx1100"])):
        failed.append("a missing processor is not noticed")
    if not any(sentence.startswith("it calls ") for sentence in wrong_calls(other, options.nm)):
        failed.append(f"{other.name} is not found to call more")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--processors", default="")
    parser.add_argument("--without-device", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("programs", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    program = options.programs[0]
    if options.self_test:
        wrong = self_test(program, options.programs[1], options)
    else:
        wrong = run_without_device(program) if options.without_device else look_through(program, options)
    for sentence in wrong:
        print(f"{program.name}: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
