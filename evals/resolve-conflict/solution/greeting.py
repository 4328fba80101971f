LIMIT = 20


def greet(name):
    return f"Good day, {name}!"[:LIMIT]
