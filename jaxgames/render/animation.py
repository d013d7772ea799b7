"""One card whose pieces, marks and caption move through the scenes of a game.

The board is drawn once. Every piece is one element that glides to its next place. Every mark is one path whose data
change. The captions are a strip of lines behind a window that shows one of them. The animation is SMIL, which runs
wherever SVG is displayed as an image, without a script or a style sheet. A viewer without SMIL shows the last scene.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from xml.etree.ElementTree import Element

from jaxgames.render.drawing import (
    CAPTION,
    CARD,
    Drawing,
    Place,
    Scene,
    caption_line,
    card,
    mark,
    move_to,
    node,
    number,
    piece,
)

PAUSE = 2.0  # additional seconds of the last scene
MAX_GLIDE = 0.35  # seconds that a piece takes to its next place, or less in a fast animation
NOTHING = "M0,0"  # the path of an invisible mark
EASE, REST = ".4 0 .2 1", "0 0 1 1"  # SMIL's keySplines: a glide that starts and ends slowly, and constant speed


@dataclass
class Track:
    """The places of one piece, one per frame, None while it is off the board."""

    look: str
    places: list[Place | None] = field(default_factory=list[Place | None])


def durations(frames: int, seconds_per_step: float) -> list[float]:
    """Returns the seconds that every frame is visible."""
    return [seconds_per_step] * (frames - 1) + [seconds_per_step + PAUSE]


def follow(drawing: Drawing, scenes: Sequence[Scene]) -> list[Track]:
    """Returns the tracks of all pieces of a game, the bottom ones first.

    A piece that appears in a frame is one of the same look that left its place in that frame, or else one that
    left the board before, or else a new one.
    """
    tracks: list[Track] = []
    standing: dict[Place, Track] = {}
    for frame, scene in enumerate(scenes):
        stays = {place: track for place, track in standing.items() if scene.pieces.get(place) == track.look}
        moving = [track for place, track in standing.items() if place not in stays]
        idle = moving + [track for track in tracks if track.places[-1] is None]
        for place, look in scene.pieces.items():
            if place in stays:
                continue
            track = next((track for track in idle if track.look == look), None)
            if track is None:
                track = Track(look, [None] * frame)
                tracks.append(track)
            else:
                idle.remove(track)
            stays[place] = track
        standing = stays
        for track in tracks:
            track.places.append(None)
        for place, track in standing.items():
            track.places[-1] = place
    order = list(drawing.looks)
    return sorted(tracks, key=lambda track: order.index(track.look))


def animated(drawing: Drawing, scenes: Sequence[Scene], seconds_per_step: float) -> Element:
    """Returns the card of a game, which runs in a loop of `sum(durations(...))` seconds."""
    clock = _Clock(len(scenes), seconds_per_step)
    under, over = (
        [
            clock.mark(attributes, [scene.marks.get(name, NOTHING) for scene in scenes])
            for name, attributes in layer.items()
        ]
        for layer in (drawing.under, drawing.over)
    )
    pieces = [clock.piece(drawing, track) for track in follow(drawing, scenes)]
    return card(drawing, [*under, *pieces, *over], _strip(drawing, scenes, clock))


def _strip(drawing: Drawing, scenes: Sequence[Scene], clock: "_Clock") -> Element:
    """Returns every caption once, one below the other, behind a window with the height of one."""
    captions = list(dict.fromkeys(scene.caption for scene in scenes))
    row = {caption: index for index, caption in enumerate(captions)}
    shifts = [f"0,{number(-CAPTION * row[scene.caption])}" for scene in scenes]
    lines = [caption_line(drawing, caption, CAPTION * index) for index, caption in enumerate(captions)]
    strip = node("g", *lines, transform=f"translate({shifts[-1]})")
    strip.extend(clock.switch("transform", shifts))
    name = f"{drawing.name}-window"
    window = node("clipPath", node("rect", width=CARD, height=CAPTION), id=name)
    return node("g", window, strip, clip_path=f"url(#{name})")


class _Clock:
    """Writes the changes from frame to frame as animation elements of one common loop."""

    def __init__(self, frames: int, seconds_per_step: float) -> None:
        self.step = seconds_per_step
        self.total = sum(durations(frames, seconds_per_step))
        self.glide = min(MAX_GLIDE, 0.6 * seconds_per_step) / seconds_per_step  # in frames

    def animate(self, tag: str, attribute: str, times: Sequence[float], values: Sequence[str], **more: str) -> Element:
        """Returns an animation to `values` at `times`, counted in frames."""
        return node(
            tag,
            attributeName=attribute,
            values=";".join(values),
            keyTimes=";".join(self._share(time) for time in times),
            dur=f"{self.total:g}s",
            repeatCount="indefinite",
            **more,
        )

    def switch(self, attribute: str, values: Sequence[str]) -> list[Element]:
        """Returns an animation that jumps from value to value; none if there is only one value."""
        times = [frame for frame, value in enumerate(values) if frame == 0 or value != values[frame - 1]]
        if len(times) == 1:
            return []
        shown = [values[frame] for frame in times]
        if attribute == "transform":
            return [self.animate("animateTransform", attribute, times, shown, type="translate", calcMode="discrete")]
        return [self.animate("animate", attribute, times, shown, calcMode="discrete")]

    def mark(self, attributes: Mapping[str, str], paths: Sequence[str]) -> Element:
        """Returns a mark that jumps from path to path, one per frame."""
        element = mark(attributes, paths[-1])
        element.extend(self.switch("d", paths))
        return element

    def piece(self, drawing: Drawing, track: Track) -> Element:
        """Returns a piece that glides while it is on the board, and appears and disappears at its place."""
        there = [place for place in track.places if place is not None]
        element = piece(drawing, track.look, there[-1])
        element.extend(self._glides(track, there[0]))
        visible = ["hidden" if place is None else "visible" for place in track.places]
        if visible[-1] == "hidden":
            element.set("visibility", "hidden")
        element.extend(self.switch("visibility", visible))
        return element

    def _glides(self, track: Track, here: Place) -> list[Element]:
        """Returns the animation of a piece's place, which starts at `here`; none if the piece never moves."""
        keys: list[tuple[float, Place]] = [(0, here)]
        eases: list[str] = []
        for frame, (before, place) in enumerate(pairwise(track.places), start=1):
            if place is None or place == here:
                continue
            arrival = frame + (self.glide if before is not None else 0)
            keys += [(frame, here), (arrival, place)]
            eases += [REST, EASE]
            here = place
        if len(keys) == 1:
            return []
        keys.append((self.total / self.step, here))
        eases.append(REST)
        times, places = zip(*keys, strict=True)
        values = [move_to(place)[len("translate(") : -1] for place in places]
        smooth = {"type": "translate", "calcMode": "spline", "keySplines": ";".join(eases)}
        return [self.animate("animateTransform", "transform", times, values, **smooth)]

    def _share(self, time: float) -> str:
        return f"{min(time * self.step / self.total, 1):.5f}".lstrip("0").rstrip("0").rstrip(".") or "0"
