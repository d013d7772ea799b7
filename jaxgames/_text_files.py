"""Text files that people edit, in the encodings and with the marks of several systems."""

import codecs
from pathlib import Path


def read_text(path: str | Path) -> str:
    """Returns the text of a file that people edit, as `decode`, without byte order marks and an end-of-file of DOS.

    Raises OSError if it cannot be read, ValueError if it is not a text.
    """
    text = decode(Path(path).read_bytes()).replace("\ufeff", "").rstrip("\0\x1a")
    if "\0" in text:
        raise ValueError(f"{path} is not a text")
    return text


def decode(content: bytes) -> str:
    """Returns a text as editors save it: in UTF-8, in UTF-16 with a byte order mark, or with lines in Windows-1252."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "\n".join(map(_decode_line, content.removeprefix(codecs.BOM_UTF8).split(b"\n")))


def _decode_line(line: bytes) -> str:
    """Returns a line in UTF-8 or Windows-1252, or in Latin-1 where the latter lacks a sign."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            continue
    return line.decode("latin-1")
