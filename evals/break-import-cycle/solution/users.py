from model import User
from posts import Post, count_by

__all__ = ["User", "describe"]


def describe(user, posts):
    assert all(isinstance(post, Post) for post in posts)
    return f"{user.name} ({user.role}): {count_by(user, posts)} posts"
