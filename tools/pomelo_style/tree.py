"""What the checks look at: tracked files, each read once."""

import os
import subprocess
from functools import cached_property

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Problem:
    """One breach of a rule; line 0 stands for the whole file."""

    def __init__(self, path, line, text):
        self.path, self.line, self.text = path, line, text

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"


class File:
    """A tracked text file, or one that git doesn't know yet and doesn't ignore."""

    def __init__(self, path):
        self.path = path
        self.folder, self.name = os.path.split(path)
        self.ext = os.path.splitext(path)[1]

    @cached_property
    def text(self):
        with open(os.path.join(ROOT, self.path), encoding="utf-8", errors="replace",
                  newline="") as file:
            return file.read()

    @cached_property
    def lines(self):
        return self.text.split("\n")

    @cached_property
    def code(self):
        """C text with comments and the insides of strings blanked; positions stay."""
        return blank(self.text)

    @cached_property
    def literals(self):
        """C text with all but the insides of strings blanked."""
        return "".join(c if c == "\n" or c != kept else " " for c, kept in
                       zip(blank(self.text, keep_literals=True), self.code))

    @property
    def is_c(self):
        return self.ext in (".c", ".h")

    @property
    def is_python(self):
        return self.ext == ".py" or self.text.startswith(("#!/usr/bin/env python",
                                                          "#!/usr/bin/python"))

    @property
    def is_source(self):
        return self.ext in (".c", ".h", ".py", ".sql", ".sh", ".spec")


def files():
    """All files of the repository as they stand."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted(set(listed.split("\0")) - {""})
    return [File(p) for p in paths if os.path.isfile(os.path.join(ROOT, p))
            and not os.path.islink(os.path.join(ROOT, p))]


def blank(text, keep_literals=False):
    """Replaces comments and the contents of literals by spaces, keeping newlines."""
    out = []
    i, n = 0, len(text)
    while i < n:
        two = text[i:i + 2]
        if two == "/*":
            end = text.find("*/", i + 2)
            end = n if end < 0 else end + 2
        elif two == "//":
            end = text.find("\n", i)
            end = n if end < 0 else end
        elif text[i] in "\"'":
            end = _literal_end(text, i)
            inside = text[i + 1:end - 1]
            out.append(text[i] + (inside if keep_literals else _spaces(inside)) + text[end - 1:end])
            i = end
            continue
        else:
            out.append(text[i])
            i += 1
            continue
        out.append(_spaces(text[i:end]))
        i = end
    return "".join(out)


def _literal_end(text, start):
    i = start + 1
    while i < len(text) and text[i] not in (text[start], "\n"):
        i += 2 if text[i] == "\\" else 1
    return min(i + 1, len(text))


def _spaces(text):
    return "".join(c if c == "\n" else " " for c in text)
