#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the device headers, all and each alone, and a folder's kernels with NVRTC or hipRTC; neither needs a GPU.

rtc.py --kind nvrtc|hiprtc --compiler PATH --arch NAME --include DIR [FOLDER]
--compiler is the ahead-of-time compiler, beside which the library is looked for. Exit status 77 where there is none.
"""
import argparse
import ctypes
import ctypes.util
import pathlib
import sys

FLAGS = {"nvrtc": ["-std=c++17"], "hiprtc": ["-std=c++17", "-Wall", "-Wextra", "-Werror"]}
NAMES = {"nvrtc": ["libnvrtc.so", "libnvrtc.so.*[0-9]"], "hiprtc": ["libhiprtc.so", "libamdhip64.so", "libamdhip64.so.*"]}


def find_library(kind, compiler):
    root = pathlib.Path(compiler).resolve().parents[1]
    folders = [root / "lib64", root / "lib", *root.glob("targets/*/lib"), pathlib.Path("/opt/rocm/lib")]
    folders += [pathlib.Path("/usr/lib/x86_64-linux-gnu"), pathlib.Path("/usr/lib")]
    for folder in folders:
        for name in NAMES[kind]:
            for path in sorted(folder.glob(name)):
                try:
                    library = ctypes.CDLL(str(path))
                except OSError:
                    continue
                if hasattr(library, f"{kind}CreateProgram"):
                    return path, library
    return None, None


class Compiler:
    """The few calls that NVRTC and hipRTC share, under their two prefixes."""

    def __init__(self, kind, library):
        self.kind, self.library = kind, library

    def call(self, name, *arguments):
        return getattr(self.library, self.kind + name)(*arguments)

    def fetch(self, what, program):
        size = ctypes.c_size_t()
        if self.call(f"Get{what}Size", program, ctypes.byref(size)) != 0:
            return b""
        buffer = ctypes.create_string_buffer(size.value + 1)
        self.call(f"Get{what}", program, buffer)
        return buffer.raw[: size.value]

    def compile(self, name, text, flags):
        """(whether it compiled without a word, its log, bytes of code)"""
        program = ctypes.c_void_p()
        if self.call("CreateProgram", ctypes.byref(program), text.encode(), name.encode(), 0, None, None) != 0:
            return False, "no program could be created", 0
        array = (ctypes.c_char_p * len(flags))(*[f.encode() for f in flags])
        code = self.call("CompileProgram", program, len(flags), array)
        log = self.fetch("ProgramLog", program).decode(errors="replace").strip("\0\n ")
        size = len(self.fetch("CUBIN" if self.kind == "nvrtc" else "Code", program)) if code == 0 else 0
        self.call("DestroyProgram", ctypes.byref(program))
        return code == 0 and size > 0 and not log, log, size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=FLAGS, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    options = parser.parse_args()

    path, library = find_library(options.kind, options.compiler)
    if library is None:
        print(f"SKIPPED: no {options.kind} library beside {options.compiler}")
        sys.exit(77)
    compiler = Compiler(options.kind, library)
    flags = FLAGS[options.kind] + [f"--gpu-architecture={options.arch}", f"-I{options.include}"]

    headers = sorted(p.relative_to(options.include).as_posix() for p in options.include.rglob("*.hpp"))
    headers = [h for h in headers if "/backend/" not in h and not h.endswith("_validate.hpp")]
    probe = 'extern "C" __global__ void probe(int* out) { *out = 1; }\n'
    programs = {"every device header": "".join(f'#include "{h}"\n' for h in headers) + probe}
    for header in headers:
        programs[f"{header} alone"] = f'#include "{header}"\n' * 2 + probe
    for source in sorted(options.folder.glob("*.cpp")) if options.folder else []:
        programs[source.name] = source.read_text()

    failed = 0
    for name, text in programs.items():
        good, log, size = compiler.compile(name.replace(" ", "_") + ".cpp", text, flags)
        print(f"{'ok' if good else 'FAILED'}  {name}: {size} bytes of code for {options.arch}")
        if log:
            print(log)
        failed += not good
    print(f"{len(programs)} programs, {failed} failed; {path}, {' '.join(flags)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
