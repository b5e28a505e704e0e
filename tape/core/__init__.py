"""The engine, without operations: what a tape is, how operations get onto it, and how it is swept.

In the order of reading, along ``y = np.tanh(x @ w)`` and ``trace.backward_param_grads(y)``:

- `interpreter`: who processes operations, one nested in another; the tape is one of them;
- `node`: a node of the tape, the call it shares with nodes alike, and the bare handle that users hold;
- `var`: the handle as an ndarray: operators and NumPy's protocols, which look operations up in `table`;
- `record`: what the table has for most operations: functions that record by the shortest way;
- `op`: an operation, and `bind`, the one protocol behind all of that: the innermost interpreter among the
  operands processes the operation, or it computes;
- `recording`: the interpreter that records, and the leaves it starts from;
- `trace`: that, with the sweeps backwards that a user asks for; `checks`: what they refuse;
- `held`: plain arrays that derivatives read, which may be written into before the sweep;
- `sweep`: the loop backwards; `pulls`: what each step of it calls; `fitting`: contributions in the shape and
  dtype of what they are for.

These thirteen files are the heart. A tape that comes again is swept by a program, `tape.program.sweeps`, in
place of `sweep`, to the same bits. What they leave to others, by subject:

- of Vars: `var_methods`, `var_writing`, `var_numbers`, `absent` (attributes that only arrays have);
  `numpy_protocol`, for calls with keywords;
- of nodes: `sites` (which line recorded one, and what it is called), `nesting` (what stands below a Var of a
  Var), `results` (the value of an operation that has several), `weak` (Python's numbers in programs);
- of operations: `operands` (what may be one), `failures` (errors in forward functions), `presentation` (names
  and documentation), `calls` (what nodes alike share, with all other pull functions), `rules` and
  `transposition` (the rule of one mode from that of the other), `series`, `batch_rules` and
  `pattern_rules` (rules for power series, batches, sparsity), `linear` and `elementwise` (the first
  operations);
- of recording: `specialise` (calls with static arguments), `program_recorders`, `program_kinds` (the same
  for programs), `dispatch` (which interpreter processes an operation), `leaves` (what may be a leaf);
- of traces: `forward` (tangents and replays), `listed` (the tape as a list), `param_trees` (models as
  params), `by_hand` (nodes that users append), `cotangents` (seeds and tangents that are given).

`streams` has the states of random numbers that code draws from; `closures` and `reached` have what functions
that derivatives run again close over.
"""
