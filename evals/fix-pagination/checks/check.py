import sys
sys.path.insert(0, ".")
from pages import page, page_count

items = list(range(10))
assert page_count(items, 5) == 2
assert page_count(items, 4) == 3
assert page_count([], 4) in (0, 1)
assert page(items, 1, 4) == [0, 1, 2, 3]
assert page(items, 3, 4) == [8, 9]
for number in (0, -1, 4):
    try:
        page(items, number, 4)
    except ValueError:
        continue
    raise AssertionError(f"page {number} is accepted")
