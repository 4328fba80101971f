from users import User, describe
from posts import Post

ada = User("Ada", "admin")
posts = [Post(ada, "one"), Post(ada, "two")]
print(describe(ada, posts))
