from posts import Post, count_by


class User:
    def __init__(self, name, role):
        self.name = name
        self.role = role


def describe(user, posts):
    assert all(isinstance(post, Post) for post in posts)
    return f"{user.name} ({user.role}): {count_by(user, posts)} posts"
