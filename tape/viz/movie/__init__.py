"""What `tape.viz.animate` is made of: frames, a plan of where nodes stand, a scene of shapes; SVG and GIF."""
