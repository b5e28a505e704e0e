"""What a program consists of, for people: `describe` prints, `explain` counts, `profile` times instructions,
`intermediates` returns the value of each.
"""
