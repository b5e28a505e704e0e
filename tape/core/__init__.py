"""The engine, without operations: what a tape is, how operations get onto it, and how it is swept.

In the order of reading, along ``y = np.tanh(x @ w)`` and ``trace.backward_param_grads(y)``:

- `node`: a node of the tape, the call it shares with nodes alike, and the bare handle that users hold;
- `var`: the handle as an ndarray: operators and NumPy's protocols (`var_methods`, `var_writing`,
  `var_numbers`, `numpy_protocol`), which look operations up in `table`;
- `record`: what the table has for most operations: functions that record by the shortest way
  (`specialise`, for those with static arguments);
- `op`: an operation, and `bind`, the one protocol behind all of that: the innermost interpreter among the
  operands processes the operation (`interpreter`), or it computes;
- `recording`: the interpreter that records, and the leaves it starts from (`operands`, `checks`: what is
  refused);
- `trace`: that, with the sweeps a user asks for;
- `sweep`: the loop backwards; `pulls`: what each step of it calls; `fitting`: contributions in the shape and
  dtype of what they are for.

Beside that: `forward` (tangents and replays), `by_hand` (nodes that users append), `rules` and
`transposition` (the rule of one mode from that of the other), `linear` and `elementwise` (the first
operations), `series` and `batch_rules` (rules for power series and batches), `sites` (which line recorded a
node).
"""
