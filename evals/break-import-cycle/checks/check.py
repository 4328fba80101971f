import ast
import subprocess
import sys

for module, names in {"users": "User, describe", "posts": "Post, count_by"}.items():
    subprocess.run([sys.executable, "-c", f"from {module} import {names}"], check=True)
import pathlib
for path in pathlib.Path(".").rglob("*.py"):
    tree = ast.parse(path.read_text())
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            assert not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(function)), path
    assert "importlib" not in path.read_text() and "__import__" not in path.read_text()
