import csv
import json
import sys


def text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


rows = json.load(sys.stdin)
keys = list(dict.fromkeys(key for row in rows for key in row))
writer = csv.writer(sys.stdout, lineterminator="\n")
writer.writerow(keys)
for row in rows:
    writer.writerow([text(row.get(key)) for key in keys])
