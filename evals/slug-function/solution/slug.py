import re
import unicodedata

LIMIT = 40


def slug(title):
    text = unicodedata.normalize("NFKD", title.replace("ß", "ss").replace("ẞ", "ss").lower())
    text = "".join(char for char in text if not unicodedata.combining(char))
    text = re.sub(r"[^a-z0-9]+", "-", text).strip("-")
    if len(text) > LIMIT:
        cut = text[:LIMIT]
        if text[LIMIT] != "-" and "-" in cut:
            cut = cut[:cut.rindex("-")]
        text = cut.strip("-")
    return text or "untitled"
