"""Comments of C code end at column 79: finds those that don't, and wraps them (`tools/style --wrap`).

Code keeps its place. Within a comment, text goes on to the next line as far as it must; items of lists, lines that are
indented further and empty lines stay what they are.
"""

import os
import re
import textwrap

from .tree import Problem, ROOT

WIDTH = 79
TAB = 4
NARROW = 27     # columns that a comment beside code needs, else it goes above

TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
BODY = re.compile(r"(\s*\*)( *)(\S.*)$")
ITEM = re.compile(r"- |\d+\. ")
WHOLE = re.compile(r"[-=]{5}|[A-Z_]+:? *$|\*/$")     # lines that nothing is put in front of


def width(line):
    return len(line.expandtabs(TAB))


def comment_width(file):
    """No line of a comment is wider than a page."""
    if file.is_c and file.path.startswith("src/"):
        for start, end in _too_wide(file.text):
            yield Problem(file.path, file.text.count("\n", 0, start) + 1,
                          f"a comment wider than {WIDTH} columns: tools/style --wrap")


def wrap(files):
    """Wraps the comments of all files that have such."""
    for file in files:
        if not list(comment_width(file)):
            continue
        text = file.text
        for start, end in reversed(list(_too_wide(text))):
            line = text.rfind("\n", 0, start) + 1
            text = text[:line] + _wrapped(text[line:start], text[start:end]) + text[end:]
        with open(os.path.join(ROOT, file.path), "w", encoding="utf-8", newline="") as out:
            out.write(text)


def _too_wide(text):
    """Where comments start and end that can be wrapped and should be."""
    for found in TOKEN.finditer(text):
        start, end = found.span()
        if not found[0].startswith("/*"):
            continue
        line = text.rfind("\n", 0, start) + 1
        if text[end:text.find("\n", end)].strip() == "" \
                and any(width(part) > WIDTH for part in text[line:end].split("\n")) \
                and _wrapped(text[line:start], text[start:end]) != text[line:end]:
            yield start, end


def _wrapped(before, comment):
    """The code in front of a comment, and the comment."""
    lines = comment.split("\n")
    if before.strip():
        return _wrap_beside(before, " ".join(re.sub(r"^\s*(/?\*+)?|\*/$", "", line).strip() for line in lines).strip())
    if not re.match(r"/\*-*$", lines[0]):
        lines = ["/*", *[f"{before} * {part}" for part in (lines[0][2:].removesuffix("*/").strip(), )], *lines[1:]]
        lines += [before + " */"] if len(lines) == 2 else []
    if lines[-1].strip() != "*/":
        lines[-1:] = [lines[-1].removesuffix("*/").rstrip(), before + " */"]
    number = 0
    while number < len(lines):
        lines[number:number + 2] = _push_on(lines[number], lines[number + 1:number + 2])
        number += 1
    return before + "\n".join(lines)


def _push_on(line, following):
    """A line within a comment and the one after it: what is too much goes on to that."""
    body = BODY.match(line)
    if not body or width(line) <= WIDTH or line.strip() == "*/":
        return [line, *following]
    star, gap, text = body.groups()
    parts = _fill(text, WIDTH - width(star + gap))
    item = ITEM.match(text)
    prefix = star + gap + " " * len(item[0] if item else "")
    after = BODY.match(following[0]) if following else None
    if len(parts) < 2:
        return [line, *following]
    rest = " ".join(parts[1:])
    if after and after[1] + after[2] == prefix and not ITEM.match(after[3]) and not WHOLE.match(after[3]):
        return [star + gap + parts[0], prefix + rest + ("  " if rest.endswith(".") else " ") + after[3]]
    return [star + gap + parts[0], prefix + rest, *following]


def _wrap_beside(code, text):
    """A comment beside code: below itself, or above the code if there is little room."""
    start = width(code)
    indent = re.match(r"\t*", code)[0]
    if WIDTH - start >= NARROW:
        margin = "\t" * (start // TAB) + " " * (start % TAB)
        parts = _fill(text, WIDTH - start - 3)
        if width(parts[-1]) + start + 6 > WIDTH:
            parts = _fill(text, WIDTH - start - 6)
        return code + "/* " + f"\n{margin} * ".join(parts) + " */"
    if re.match(r"\s*(else|\}|case|default)|.*[^;{}:,)]\s*$", code):
        return f"{code}/* {text} */"
    above = f"{indent}/* {text} */"
    if width(above) > WIDTH:
        above = f"{indent}/*\n{indent} * " + f"\n{indent} * ".join(_fill(text, WIDTH - width(indent) - 3)) + f"\n{indent} */"
    return f"{above}\n{code.rstrip()}"


def _fill(text, columns):
    return textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False) or [""]
