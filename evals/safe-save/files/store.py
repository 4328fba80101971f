"""Stores a dictionary as JSON."""

import json


def save(path, data):
    with open(path, "w") as file:
        json.dump(data, file)


def load(path):
    with open(path) as file:
        return json.load(file)
