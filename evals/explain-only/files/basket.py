"""The basket of a user."""

class Basket:
    def __init__(self, user, items=[]):
        self.user = user
        self.items = items

    def add(self, item):
        self.items.append(item)
