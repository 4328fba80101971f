from basket import Basket

first, second = Basket("ada"), Basket("ken")
first.add("tea")
print(second.user, second.items)
