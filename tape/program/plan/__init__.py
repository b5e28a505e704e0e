"""Stage 3: every instruction gets a turn, and every value a place in memory.

Read `layouts` (strides and offsets), then `planner` (views, copies, order and groups), then `memory` (which
memory is free when).
"""
