"""Optimizers: in place as classes, pure as functions; learning rates, clipping and averages.

A class such as `Adam` holds arrays of parameters and updates them in place. A function such as `adam` returns
a `Rule` of two pure functions, ``init`` and ``update``, for compiled training steps. Both are one formula,
written once in `tape.kernels.formulas`.
"""

from tape.optim import schedules
from tape.optim._accumulation import Accumulated, accumulated
from tape.optim._adam import Adam, AdamW, adam, adamw
from tape.optim._adam_kin import Adamax, NAdam, adamax, nadam
from tape.optim._adaptive import Adadelta, Adagrad, RMSprop, adadelta, adagrad, rmsprop
from tape.optim._averages import ema, polyak
from tape.optim._clipping import clip_by_global_norm, clip_by_value
from tape.optim._descent import SGD, Lion, lion, sgd
from tape.optim._lbfgs import LBFGS
from tape.optim._lbfgs_rule import lbfgs
from tape.optim._muon import Muon, muon
from tape.optim._rule import Rule, State

__all__ = [
    "LBFGS",
    "SGD",
    "Accumulated",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "Muon",
    "NAdam",
    "RMSprop",
    "Rule",
    "State",
    "accumulated",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "clip_by_global_norm",
    "clip_by_value",
    "ema",
    "lbfgs",
    "lion",
    "muon",
    "nadam",
    "polyak",
    "rmsprop",
    "schedules",
    "sgd",
]
