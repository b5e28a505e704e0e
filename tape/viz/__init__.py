"""Pictures of a tape (`arc`, `graph`, `dot`, `html`, `animate`), of time (`flame`), and of a training.

Computing needs nothing of this, and no function here changes the trace that it draws.
"""

from tape.viz.animate import Animation, animate
from tape.viz.arc import arc
from tape.viz.curve import curve
from tape.viz.dot import dot
from tape.viz.drawing import Drawing
from tape.viz.flame import flame
from tape.viz.graph import graph
from tape.viz.histograms import histograms
from tape.viz.landscape import landscape
from tape.viz.slices import LandscapeSlice, landscape_slice
from tape.viz.stepper import Page, html

__all__ = [
    "Animation",
    "Drawing",
    "LandscapeSlice",
    "Page",
    "animate",
    "arc",
    "curve",
    "dot",
    "flame",
    "graph",
    "histograms",
    "html",
    "landscape",
    "landscape_slice",
]
