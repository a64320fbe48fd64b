#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each folder of include/kvloom includes only the folders below it, and no device header a standard or runtime header."""
import common

ALLOWED = {
    "core": {"core"},
    "layout": {"core", "layout"},
    "group": {"core", "group"},
    "matrix": {"core", "group", "matrix"},
    "op": {"core", "layout", "group", "matrix", "op"},
    "kernel": {"core", "layout", "group", "matrix", "op", "kernel"},
    "backend": {"core", "layout", "group", "backend"},
}


def folder_of(path, base):
    """The layer of a path below include/kvloom; '' for kvloom.hpp and version.hpp."""
    parts = path.relative_to(base).parts
    return parts[0] if len(parts) > 1 else ""


def check(root):
    problems = []
    base = root / "include" / "kvloom"
    for path in common.sources(root, ("include",)):
        layer = folder_of(path, base)
        if layer and layer not in ALLOWED:
            problems.append(f"{path.relative_to(root)}: '{layer}' is no layer")
            continue
        allowed = ALLOWED[layer] if layer else {"", *ALLOWED} - {"backend"}
        for line, name, quoted in common.includes(path.read_text()):
            where = f"{path.relative_to(root)}:{line}"
            candidates = [path.parent / name, root / "include" / name] if quoted else [root / "include" / name]
            target = next((c.resolve() for c in candidates if c.exists()), None)
            if target is None:
                if quoted or name.startswith("kvloom/"):
                    problems.append(f"{where}: '{name}' does not exist")
                elif layer != "backend" and not (path.stem.endswith("_validate") and name.count(".") == 0):
                    problems.append(f"{where}: device header includes <{name}>")
                continue
            other = folder_of(target, base.resolve())
            if other not in allowed and other + "/" not in allowed and target.name != "version.hpp":
                problems.append(f"{where}: {layer or 'umbrella'} may not include {other or target.name}")
    return problems


GOOD = {
    "include/kvloom/kvloom.hpp": '#include "core/a.hpp"\n#include "version.hpp"\n',
    "include/kvloom/version.hpp": "",
    "include/kvloom/core/a.hpp": "// #include <vector>\n",
    "include/kvloom/layout/b.hpp": '#include "../core/a.hpp"\n',
    "include/kvloom/op/c.hpp": '#include "kvloom/layout/b.hpp"\n#include <kvloom/core/a.hpp>\n',
    "include/kvloom/kernel/d_validate.hpp": '#include "../op/c.hpp"\n#include <cstdint>\n',
    "include/kvloom/backend/e.hpp": '#include "../core/a.hpp"\n#include <hip/hip_runtime.h>\n#include <thread>\n',
}
BAD = [
    ("core may not include layout", {"include/kvloom/core/x.hpp": '#include "../layout/b.hpp"\n'}),
    ("layout may not include op", {"include/kvloom/layout/x.hpp": "#include <kvloom/op/c.hpp>\n"}),
    ("backend may not include op", {"include/kvloom/backend/x.hpp": '#include "kvloom/op/c.hpp"\n'}),
    ("kernel may not include backend", {"include/kvloom/kernel/x.hpp": '#include "../backend/e.hpp"\n'}),
    ("umbrella may not include backend", {"include/kvloom/kvloom.hpp": '#include "backend/e.hpp"\n'}),
    ("device header includes <cstdint>", {"include/kvloom/core/x.hpp": "#  include <cstdint>\n"}),
    ("device header includes <cuda_runtime.h>", {"include/kvloom/kernel/d_validate.hpp": "#include <cuda_runtime.h>\n"}),
    ("does not exist", {"include/kvloom/core/x.hpp": '#include "gone.hpp"\n'}),
    ("is no layer", {"include/kvloom/misc/x.hpp": ""}),
]

if __name__ == "__main__":
    common.main(__doc__, check, GOOD, BAD)
