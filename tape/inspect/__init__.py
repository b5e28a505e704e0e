"""Looking at a tape: printing, watching for NaN, profiling, costs."""
