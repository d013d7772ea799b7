"""Text files that people edit, in the encodings of several systems."""

import codecs
from pathlib import Path


def read_text(path: str | Path) -> str:
    """Returns the text of a file that people edit, as `decode`.

    Raises OSError if it cannot be read, ValueError if it is not a text.
    """
    text = decode(Path(path).read_bytes())
    if "\0" in text:
        raise ValueError(f"{path} is not a text")
    return text


def decode(content: bytes) -> str:
    """Returns a text as editors save it: in UTF-8, in UTF-16 with a byte order mark, or else in Windows-1252."""
    has_mark = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if has_mark else "utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")
