"""Splits a script into statements the way psql does.

Knows quotes, E'' strings, dollar quotes, nested comments, parentheses, the body
of `BEGIN ATOMIC .. END` functions, and data lines after COPY .. FROM STDIN.
Comments in front of a statement come with it: they carry the markers.
"""

import re
from dataclasses import dataclass, field

DOLLAR = re.compile(r"\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?\$")
WORD = re.compile(r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*")
COPY_STDIN = re.compile(r"\s*COPY\b.*\bFROM\s+STDIN\b", re.IGNORECASE | re.DOTALL)


class ScriptError(Exception):
    """A script that can't be read; says where."""


@dataclass
class Token:
    """A word, quoted identifier or symbol, with its depth of parentheses."""
    kind: str       # word, ident, string, symbol, param
    text: str
    depth: int


@dataclass
class RawStatement:
    text: str                   # without the semicolon
    line: int                   # of its first word
    comments: list = field(default_factory=list)    # (line, text) in front of it
    tokens: list = field(default_factory=list)
    data: str = None            # what follows COPY .. FROM STDIN


class Splitter:
    """One pass over a script's text."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.pos = 0
        self.comments = []
        self.statements = []
        self._reset()

    def _reset(self):
        self.start = None
        self.tokens = []
        self.depth = 0
        self.atomic = 0

    def fail(self, what):
        raise ScriptError(f"{self.path}:{self.line_at(self.pos)}: {what}")

    def line_at(self, pos):
        return self.text.count("\n", 0, pos) + 1

    def split(self):
        """Returns the statements and the comments after the last one."""
        while self.pos < len(self.text):
            self._step()
        if self.start is not None:
            self.fail("the last statement has no semicolon")
        return self.statements, self.comments

    def _step(self):
        text, pos = self.text, self.pos
        char = text[pos]
        if char.isspace():
            self.pos += 1
        elif text.startswith("--", pos):
            end = text.find("\n", pos)
            end = len(text) if end < 0 else end
            if self.start is None:
                self.comments.append((self.line_at(pos), text[pos + 2:end].strip()))
            self.pos = end
        elif text.startswith("/*", pos):
            self._block_comment()
        elif char == "'":
            self._quoted("'", "string", self._is_escape_string())
        elif char == '"':
            self._quoted('"', "ident", False)
        elif char == "$" and DOLLAR.match(text, pos):
            self._dollar(DOLLAR.match(text, pos).group())
        elif char == "$" and re.match(r"\$\d+", text[pos:pos + 12]):
            self._add("param", re.match(r"\$\d+", text[pos:pos + 12]).group())
        elif WORD.match(text, pos):
            self._word(WORD.match(text, pos).group())
        elif char == ";" and self.depth == 0 and self.atomic == 0:
            self._finish()
        else:
            if char in "([":
                self._add("symbol", char)
                self.depth += 1
            elif char in ")]":
                self.depth = max(self.depth - 1, 0)
                self._add("symbol", char)
            else:
                self._add("symbol", char)

    def _add(self, kind, token):
        if self.start is None:
            self.start = self.pos
        self.tokens.append(Token(kind, token, self.depth))
        self.pos += len(token)

    def _word(self, word):
        lower = word.lower()
        routine = (self.tokens and self.tokens[0].text.lower() == "create" and
                   any(t.text.lower() in ("function", "procedure") for t in self.tokens[:4]))
        if routine:
            if lower == "atomic" and self.tokens[-1].text.lower() == "begin":
                self.atomic = 1
            elif self.atomic and lower == "case":
                self.atomic += 1
            elif self.atomic and lower == "end":
                self.atomic -= 1
        self._add("word", word)

    def _is_escape_string(self):
        return self.pos > 0 and self.text[self.pos - 1] in "eE" and \
            bool(self.tokens) and self.tokens[-1].text in "eE"

    def _quoted(self, quote, kind, escapes):
        pos = self.pos + 1
        while True:
            if pos >= len(self.text):
                self.fail(f"unterminated {quote}")
            if escapes and self.text[pos] == "\\":
                pos += 2
            elif self.text[pos] == quote:
                if self.text[pos + 1:pos + 2] != quote:
                    break
                pos += 2
            else:
                pos += 1
        self._add(kind, self.text[self.pos:pos + 1])

    def _dollar(self, tag):
        end = self.text.find(tag, self.pos + len(tag))
        if end < 0:
            self.fail(f"unterminated {tag}")
        self._add("string", self.text[self.pos:end + len(tag)])

    def _block_comment(self):
        depth, pos = 0, self.pos
        while True:
            if self.text.startswith("/*", pos):
                depth += 1
                pos += 2
            elif self.text.startswith("*/", pos):
                depth -= 1
                pos += 2
            elif pos >= len(self.text):
                self.fail("unterminated /*")
            else:
                pos += 1
            if depth == 0:
                break
        self.pos = pos

    def _finish(self):
        if self.start is not None:
            statement = RawStatement(self.text[self.start:self.pos], self.line_at(self.start),
                                     self.comments, self.tokens)
            self.statements.append(statement)
            self.comments = []
            if COPY_STDIN.match(statement.text):
                self._copy_data(statement)
        self.pos += 1
        self._reset()

    def _copy_data(self, statement):
        begin = self.text.find("\n", self.pos) + 1
        # A marker "feed:" takes the data from elsewhere.
        if any(text.startswith("feed:") for _, text in statement.comments):
            return
        end = self.text.find("\n\\.\n", begin - 1)
        if begin == 0 or end < 0:
            self.fail("COPY FROM STDIN without a closing \\.")
        statement.data = self.text[begin:end + 1]
        self.pos = end + 2


def split(path, text):
    """The statements of a script, and its closing comments."""
    return Splitter(path, text).split()
