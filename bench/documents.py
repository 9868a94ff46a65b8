"""JSON documents like the events of a code host: the text that the trigram index is built from."""

import json
import random

WORDS = ("add remove fix update improve rename move test merge revert document handle avoid check build release "
         "parser index cache query table worker socket buffer lock error message option default version branch "
         "memory leak race timeout typo warning config script package module function interface client server").split()


def events(rows):
    """Events like those of a code host, each with a few commits; the same ones on every call."""
    chance = random.Random(7)
    for first in range(1, rows + 1, 1000):
        yield "".join(f"{number}\t{event(chance, number)}\n"
                      for number in range(first, min(first + 1000, rows + 1))).encode()


def event(chance, number):
    commits = [{"sha": f"{chance.getrandbits(160):040x}", "distinct": True,
                "author": {"name": f"user{chance.randrange(5000)}"},
                "message": " ".join([*chance.choices(WORDS, k=8), f"#{chance.randrange(100_000)}"])}
               for _ in range(chance.randrange(1, 4))]
    return json.dumps({"type": "PushEvent", "created_at": f"2024-01-{number % 28 + 1:02d}T12:00:00Z",
                       "actor": {"id": number % 5000}, "repo": {"id": number % 997},
                       "payload": {"ref": "refs/heads/main", "size": len(commits), "commits": commits}})
