import re
import sys

text = open("Makefile").read()
if sys.argv[1] == "tabs":
    recipes = re.findall(r"^([ \t]+)(\S.*)$", text, re.M)
    assert [line for _, line in recipes] == ["cat out.txt", "sort in.txt > $@", "@echo sorted", "rm -f out.txt"], recipes
    assert all(indent == "\t" for indent, _ in recipes), recipes
else:
    names = [name for line in re.findall(r"^\.PHONY:(.*)$", text, re.M) for name in line.split()]
    assert sorted(names) == ["all", "clean", "report"], names
