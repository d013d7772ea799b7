"""Text files as editors save them, and names of files with signs that programs could take for their own."""

NAME = "a b 'c' #1 %20 [x]{y}, (z)=1; é"  # of a file


def saved_by_editors(text: str) -> list[bytes]:
    """Returns a text in the encodings and line ends of several systems."""
    windows = text.replace("\n", "\r\n")
    return [
        windows.encode("utf-8-sig"),
        windows.encode("utf-16"),
        b"\xfe\xff" + windows.encode("utf-16-be"),
        f"{text}\n \n".encode(),
    ]
