import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "stations.txt")
    subprocess.run([sys.executable, os.path.join(os.environ["TASK"], "setup.py"), path], check=True)
    lines = open(path).read().splitlines()
wanted = []
for line in lines:
    if wanted and line in (wanted[-1], wanted[max(len(wanted) - 5000, 0)]):
        continue
    wanted.append(line.replace("height=214", "height=412") if line.startswith("S-13577;") else line)
assert len(wanted) == len(lines) - 2
assert open("stations.txt").read() == "\n".join(wanted) + "\n"
