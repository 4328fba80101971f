import re
import sys
sys.path.insert(0, ".")
import shop
from shop import report

assert shop.total_price(2, 100, 10) == 180
assert not hasattr(shop, "calc") and not hasattr(shop.prices, "calc")
cart = shop.Cart()
cart.add(2, 100, 10)
cart.add(1, 50)
assert (cart.total(), cart.cheapest()) == (230, 50)
assert report.line(2, 100, 10) == "2 x 100 = 180"
assert report.recalc([(2, 100, 10)]) == 200
for name in ("__init__", "prices", "cart", "report"):
    text = open(f"shop/{name}.py").read()
    assert not re.search(r"\bcalc\b", text), name
