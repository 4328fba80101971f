"""Prices in cents."""


def calc(amount, price, discount=0):
    """The price of `amount` pieces. `recalc` in old reports was something else."""
    return amount * price * (100 - discount) // 100
