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
- `sweep`: the loop backwards; `pulls`: what each step of it calls; `fitting`: contributions in the shape and
  dtype of what they are for.

These twelve files are the heart. What they leave to others, where the walk leads to it:

- of Vars: `var_methods`, `var_writing`, `var_numbers`, `numpy_protocol` (calls of NumPy that are not plain);
- of recording: `specialise` (operations with static arguments), `program_recorders` (on the tapes of programs),
  `presentation` (names and documentation of operations), `operands` (what may be one), `leaves` (what may be one),
  `sites` (which line recorded a node, and its name), `dispatch` (which interpreter), `failures` (errors in forward
  functions), `results` (operations with several);
- of traces: `listed` (as the list of nodes), `forward` (tangents and replays), `param_trees` (models as params),
  `by_hand` (nodes that users append), `cotangents` (seeds and tangents that are given);
- of rules: `calls` (what nodes alike share, and pull functions of all other operations), `rules` and
  `transposition` (the rule of one mode from that of the other), `series`, `batch_rules` and `pattern_rules` (rules
  for power series, batches and sparsity), `linear` and `elementwise` (the first operations).

`nesting` has what stands below a Var of a Var, `streams` the states of random numbers.
"""
