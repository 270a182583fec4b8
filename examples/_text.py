"""Text that every Python has: the prose of its language reference, which `help("for")` reads from."""

import re
from pydoc_data.topics import topics


def paragraphs():
    """Each paragraph of prose once, its lines joined; grammars and programs, mostly signs, are left out."""
    found = {}
    for topic in sorted(topics):
        for paragraph in topics[topic].split("\n\n"):
            line = " ".join(paragraph.split())
            if len(line) > 80 and len(re.findall(r"[^\w\s,.]", line)) < 0.1 * len(line):
                found[line] = True
    return list(found)


def split(items):
    """Nine of ten for training, every tenth for validation."""
    return [item for i, item in enumerate(items) if i % 10 != 9], items[9::10]


def words(paragraph):
    """Words and punctuation, in lower case."""
    return re.findall(r"[a-z_]+|[.,:;()]", paragraph.lower())
