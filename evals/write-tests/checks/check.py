import pathlib
import shutil
import subprocess
import tempfile

source = pathlib.Path("interval.py").read_text()
faults = [
    ("start <= value < end", "start <= value <= end"),
    ("start <= value < end", "start < value < end"),
    ("if start >= end:", "if start > end:"),
    ("start <= merged[-1][1]", "start < merged[-1][1]"),
    ("max(merged[-1][1], end)", "end"),
]
for old, new in faults:
    assert source.count(old) == 1, old
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy("test_interval.py", folder)
        pathlib.Path(folder, "interval.py").write_text(source.replace(old, new))
        ended = subprocess.run(["python3", "-m", "unittest", "-q", "test_interval"], cwd=folder, capture_output=True)
        assert ended.returncode != 0, f"the tests do not notice `{new}`"
