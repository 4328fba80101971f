import tomllib

with open("settings.toml", "rb") as file:
    settings = tomllib.load(file)
assert settings == {
    "server": {"host": "example.org", "port": 8080, "timeout": 30, "secure": True},
    "data": {"path": "C:\\data\\new", "tags": ["a", "b"], "ratio": 0.5, "version": "1.10.0"},
}, settings
