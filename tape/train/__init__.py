"""Training: loops with checkpoints that survive kills, loaders of data, files of parameters.

`fit` calls a step for each batch, `Checkpoints` keep a run, `DataLoader` and `Windows` make the batches,
`save` and `load` keep trees of arrays, `tape.train.data` has data sets at hand. A state is any tree of
arrays and numbers, a step any function: nothing here knows layers or optimizers.
"""

from tape.train import data
from tape.train._callbacks import EarlyStopping, Run
from tape.train._checkpoints import Checkpoints
from tape.train._files import load, save
from tape.train._fit import fit
from tape.train._history import History
from tape.train._loader import DataLoader
from tape.train._logs import CSVLog, JSONLinesLog, TensorBoardLog
from tape.train._metrics import evaluate
from tape.train._windows import Windows

__all__ = [
    "CSVLog",
    "Checkpoints",
    "DataLoader",
    "EarlyStopping",
    "History",
    "JSONLinesLog",
    "Run",
    "TensorBoardLog",
    "Windows",
    "data",
    "evaluate",
    "fit",
    "load",
    "save",
]
