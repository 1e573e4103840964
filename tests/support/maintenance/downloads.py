"""Files of personal downloads."""

import json

WHEN = "2023-11-14T22:13:20Z"


def download_file(posts, following=(), **account):
    """A file of alice's, as bytes. `posts`, newest first: (id, time, text)."""
    about = {"id": 1, "username": "Alice", "name": "", "bio": "", "language": "", "registered": None, "address": ""}
    lines = [
        {"type": "export", "format": "retwis-export", "version": 1, "exported_at": WHEN},
        {"type": "account", **about, **account},
        *({"type": "following", "id": 99, "username": name, "since": WHEN} for name in following),
        *({"type": "post", "id": pid, "time": when, "text": text, "address": ""} for pid, when, text in posts),
    ]
    lines.append({"type": "end", "lines": len(lines) + 1})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
