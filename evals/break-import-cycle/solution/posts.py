from model import User


class Post:
    def __init__(self, author, text):
        assert isinstance(author, User)
        self.author = author
        self.text = text


def count_by(user, posts):
    return sum(post.author is user for post in posts)
