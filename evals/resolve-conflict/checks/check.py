import sys
sys.path.insert(0, ".")
from greeting import greet

assert greet("Ada") == "Good day, Ada!", greet("Ada")
assert greet("x" * 50) == ("Good day, " + "x" * 50 + "!")[:20], greet("x" * 50)
assert "<<<" not in open("greeting.py").read()
