import configparser

settings = configparser.ConfigParser()
settings.read("settings.ini")
server = settings["server"]
tags = [tag.strip() for tag in settings["data"]["tags"].split(",")]
print(f"{server['host']}:{server['port']}", server["timeout"], ",".join(tags))
