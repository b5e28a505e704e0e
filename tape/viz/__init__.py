"""Pictures of a tape: the graph, the arcs, the stepper, the animation; and of training."""
