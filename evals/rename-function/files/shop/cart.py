from . import prices
from .prices import calc


class Cart:
    def __init__(self):
        self.rows = []

    def add(self, amount, price, discount=0):
        self.rows.append((amount, price, discount))

    def total(self):
        return sum(calc(*row) for row in self.rows)

    def cheapest(self):
        return min(prices.calc(1, price, discount) for _, price, discount in self.rows)
