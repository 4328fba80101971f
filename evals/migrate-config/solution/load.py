import tomllib

with open("settings.toml", "rb") as file:
    settings = tomllib.load(file)
server = settings["server"]
print(f"{server['host']}:{server['port']}", server["timeout"], ",".join(settings["data"]["tags"]))
