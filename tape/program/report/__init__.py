"""Reports on programs: `describe` prints instructions, `explain` counts them, `profile` times them, and
`intermediates` returns the value of each.
"""
