import sys
sys.path.insert(0, ".")
from slug import slug

cases = {
    "Hello, World!": "hello-world",
    "  Café – Größe ": "cafe-grosse",
    "A__B--C": "a-b-c",
    "日本": "untitled",
    "": "untitled",
    "Ünïcödé 2026": "unicode-2026",
    "x" * 50: "x" * 40,
    "one two three four five six seven eight nine": "one-two-three-four-five-six-seven-eight",
    "one two three four five six seven eightyy": "one-two-three-four-five-six-seven",
    "a" * 39 + " b": "a" * 39,
    "a" * 40 + " b": "a" * 40,
    "İstanbul": "istanbul",
}
for title, wanted in cases.items():
    assert slug(title) == wanted, (title, slug(title))
