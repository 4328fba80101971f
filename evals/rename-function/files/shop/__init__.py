from .cart import Cart
from .prices import calc

__all__ = ["Cart", "calc"]
