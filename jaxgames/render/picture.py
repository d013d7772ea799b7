"""Pictures that can be displayed in notebooks and saved to files."""

import base64
import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxgames._checks import ParameterError

SUFFIXES = (".svg", ".png", ".gif")
_GIF_COLOURS = 255


class Picture:
    """A drawn board, a grid of boards or an animated game; made by `svg` and `animate`.

    `picture.svg` is the text of the SVG document. A notebook displays a picture that is the last value of a cell.
    """

    def __init__(self, svg: str, frames: Callable[[], Iterator[str]], seconds: Sequence[float], paper: str) -> None:
        self.svg = svg
        self.seconds: tuple[float, ...] = tuple(seconds)  # that every frame is visible
        self.paper = paper  # the background of a GIF, which has no half-transparent colours
        self._frames = frames  # the frames as still SVG documents, drawn only when they are needed

    @property
    def num_frames(self) -> int:
        """Number of frames; 1 for a still picture."""
        return len(self.seconds)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture in the format that the suffix of `path` names.

        `.svg` is animated if the picture is, and needs no other package. `.png` is still: the last frame of an
        animation. `.gif` is animated frame by frame. The latter two raise ImportError without the extra `render`.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".svg":
            path.write_text(self.svg, encoding="utf-8")
        elif suffix == ".png":
            path.write_bytes(_rasterise(self.svg))
        elif suffix == ".gif":
            path.write_bytes(_gif(self._frames(), self.seconds, self.paper))
        else:
            raise ParameterError(f"the suffix of {str(path)!r} must be one of {', '.join(SUFFIXES)}")

    def pixels(self) -> np.ndarray:
        """Returns uint8[height, width, 3], the picture on its paper; the last frame of an animation.

        Raises ImportError without the packages of the extra `render`.
        """
        return np.asarray(_opaque(self.svg, self.paper))

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """Returns an image element: it runs, and its ids do not clash with those of other pictures on the page."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img src="data:image/svg+xml;base64,{data}" style="max-width:100%" alt="board">'

    def __repr__(self) -> str:
        return f"Picture({len(self.svg)} characters of SVG, {self.num_frames} frames, {sum(self.seconds):g} s)"


def _rasterise(svg: str) -> bytes:
    """Returns the PNG of a still SVG, in its own size."""
    try:
        import resvg_py
    except ImportError as error:
        raise _missing("resvg_py") from error
    return resvg_py.svg_to_bytes(svg_string=svg)


def _opaque(svg: str, paper: str) -> Any:
    """Returns the still SVG as an RGB image of Pillow, on a background of the colour `paper`."""
    image = _pillow().open(io.BytesIO(_rasterise(svg)))
    opaque = _pillow().new("RGB", image.size, paper)
    opaque.paste(image, mask=image.getchannel("A"))
    return opaque


def _gif(frames: Iterator[str], seconds: Sequence[float], paper: str) -> bytes:
    """Returns one GIF in an endless loop. All frames share one palette, so that nothing flickers."""
    images = [_opaque(frame, paper) for frame in frames]
    no_dither = _pillow().Dither.NONE
    sample = _pillow().new("RGB", (images[0].width, 3 * images[0].height))
    for row, index in enumerate((0, len(images) // 2, -1)):
        sample.paste(images[index], (0, row * images[0].height))
    palette = sample.quantize(_GIF_COLOURS, dither=no_dither)
    first, *others = [image.quantize(palette=palette, dither=no_dither) for image in images]
    out = io.BytesIO()
    milliseconds = [round(1000 * duration) for duration in seconds]
    first.save(out, "GIF", save_all=True, append_images=others, duration=milliseconds, loop=0)
    return out.getvalue()


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise _missing("pillow") from error
    return Image


def _missing(package: str) -> ImportError:
    """Returns the error for a package that is not installed, with the command that installs it."""
    return ImportError(f'PNG and GIF files need {package}: pip install "jaxgames[render]" (SVG needs nothing)')
