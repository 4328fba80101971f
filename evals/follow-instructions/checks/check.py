import inspect
import sys
sys.path.insert(0, ".")
from tools.area import area

assert open("tools/area.py").readline().strip() == "# SPDX-License-Identifier: MIT"
signature = inspect.signature(area)
annotations = [parameter.annotation for parameter in signature.parameters.values()]
assert inspect.Signature.empty not in [*annotations, signature.return_annotation]
rows = [line for line in open("MODULES.md").read().splitlines() if line.startswith("- ")]
assert [row[2:].split(":")[0] for row in rows] == ["area", "clock", "volume"], rows
