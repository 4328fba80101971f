"""Writes the stations."""

import sys

lines = []
for number in range(20000):
    height = 214 if number in (13577, 13578) else number * 7919 % 3000
    lines.append(f"S-{number:05};name=Station {number * 31 % 997};height={height}")
# One double right below, and one 5,000 lines below.
lines.insert(4001, lines[4000])
lines.insert(12001, lines[7001])
with open(sys.argv[1], "w") as file:
    file.write("\n".join(lines) + "\n")
