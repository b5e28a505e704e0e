"""The stages of `tape.viz.animate`: frames, the layout of nodes, a scene of shapes, SVG and GIF."""
