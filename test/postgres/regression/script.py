"""A regression script as a list of statements, split where psql sends them, and the script that psql is given.

Behind each statement stands an \\echo with its number and SQLSTATE, so that its answer is known without a guess.
"""

import re
from dataclasses import dataclass

__all__ = ["Statement", "split", "marked", "MARKER"]

MARKER = "@@answered"
DOLLAR = re.compile(r"\$(?:[A-Za-z_\x80-\uffff][\w\x80-\uffff]*)?\$")
WORD = re.compile(r"[A-Za-z_\x80-\uffff][\w$\x80-\uffff]*")
COPY_DATA = re.compile(r"\s*copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)
ROUTINE = re.compile(r"create\s+(or\s+replace\s+)?(function|procedure)\b", re.IGNORECASE)
OLD_STRINGS = re.compile(r"\bset\s+standard_conforming_strings\s*(?:=|to)\s*(on|off)", re.IGNORECASE)


@dataclass
class Statement:
    """What psql sends, or does, at once."""
    text: str               # with the comments before it, and its semicolon or backslash command
    code: str               # without comments, blanks made one
    data: str = ""          # of COPY FROM STDIN, with its closing line


class _Splitter:
    """One pass over a script's text, by psql's rules."""

    def __init__(self, text):
        self.text, self.pos, self.start = text, 0, 0
        self.statements = []
        self.backslashes = False    # in plain strings: standard_conforming_strings is off
        self._reset()

    def _reset(self):
        self.start, self.code, self.depth, self.atomic = self.pos, [], 0, 0

    def split(self):
        while self.pos < len(self.text):
            self._step()
        if "".join(self.code).strip():
            self._finish()
        return self.statements

    def _step(self):
        text, pos = self.text, self.pos
        char = text[pos]
        if text.startswith("--", pos):
            self._skip(self._line_end(pos))
        elif text.startswith("/*", pos):
            self._skip(self._comment_end(pos))
        elif char in "'\"":
            self._take(self._quote_end(pos, char))
        elif char == "$" and DOLLAR.match(text, pos):
            tag = DOLLAR.match(text, pos).group()
            end = text.find(tag, pos + len(tag))
            self._take(len(text) if end < 0 else end + len(tag))
        elif WORD.match(text, pos):
            self._word(WORD.match(text, pos).group())
        elif text.startswith("\\;", pos):
            self._take(pos + 2)
        elif char == "\\":
            self._take(self._line_end(pos))
            self._finish()
        else:
            self.depth = max(self.depth + (char in "(") - (char in ")"), 0)
            self._take(pos + 1)
            if char == ";" and self.depth == 0 and self.atomic == 0:
                self._finish()

    def _take(self, end):
        self.code.append(self.text[self.pos:end])
        self.pos = end

    def _skip(self, end):
        self.code.append(" ")
        self.pos = end

    def _word(self, word):
        """Count the blocks of a routine whose body is SQL: semicolons in it don't end the statement."""
        lower = word.lower()
        if (lower == "begin" or self.atomic and lower == "case") and ROUTINE.match("".join(self.code).lstrip()):
            self.atomic += 1
        elif self.atomic and lower == "end":
            self.atomic -= 1
        self._take(self.pos + len(word))

    def _line_end(self, pos):
        end = self.text.find("\n", pos)
        return len(self.text) if end < 0 else end

    def _comment_end(self, pos):
        depth = 0
        for found in re.compile(r"/\*|\*/").finditer(self.text, pos):
            depth += 1 if found.group() == "/*" else -1
            if depth == 0:
                return found.end()
        return len(self.text)

    def _quote_end(self, pos, quote):
        before = self.text[max(pos - 2, 0):pos]
        escapes = quote == "'" and (self.backslashes or re.search(r"(^|\W)[eE]$", before))
        pos += 1
        while pos < len(self.text) and self.text[pos] != quote:
            pos += 2 if escapes and self.text[pos] == "\\" else 1
        return pos + 1

    def _finish(self):
        code = " ".join("".join(self.code).split())
        statement = Statement(self.text[self.start:self.pos], code)
        if COPY_DATA.match(code):
            begin = self._line_end(self.pos) + 1
            end = self.text.find("\n\\.", begin - 1)
            end = len(self.text) if end < 0 else self._line_end(end + 1)
            statement.data = self.text[begin:end]
            self.pos = end
        setting = OLD_STRINGS.search(code)
        if setting:
            self.backslashes = setting[1].lower() == "off"
        self.statements.append(statement)
        self._reset()


def split(text):
    """The statements of a script, backslash commands among them."""
    return _Splitter(text).split()


def marked(statements, failing):
    """The text for psql; failing: number of a statement -> the SQLSTATE that stands for it."""
    parts = []
    for number, statement in enumerate(statements):
        if number in failing:
            if re.match(r"(commit|end)\b", statement.code, re.IGNORECASE):
                parts.append("ROLLBACK;")
            parts.append(f"DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{failing[number]}'; END $$;")
        else:
            parts.append(statement.text.lstrip() + (f"\n{statement.data}" if statement.data else ""))
        # The rest of data that COPY didn't take is no part of the next statement.
        parts.append(f"\\r\n\\echo {MARKER} {number} :SQLSTATE")
    return "\n".join(parts) + "\n"
