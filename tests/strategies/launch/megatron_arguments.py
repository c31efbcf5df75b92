"""Feeds launches, one a line, to Megatron-LM's own parser and validation, without PyTorch: what is imported besides
arguments.py, transformer_config.py and what these two read is a stand-in that lets anything pass.

usage: megatron_arguments.py CHECKOUT < LINES        a line: WORLD_SIZE TAB ENVIRONMENT TAB FLAGS
"""
import importlib
import importlib.abc
import importlib.machinery
import io
import math
import os
import shlex
import sys
import types
from contextlib import redirect_stderr, redirect_stdout

REAL = (
    "megatron.training.arguments",
    "megatron.core.transformer.transformer_config",
    "megatron.core.transformer.enums",
    "megatron.core.transformer.pipeline_parallel_layer_layout",
    "megatron.core.model_parallel_config",
    "megatron.core.enums",
)


class Anything(type):
    """A class whose attributes are classes like it, the same each time."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = stand_in(f"{cls.__name__}.{name}")
        setattr(cls, name, made)
        return made

    def __iter__(cls):
        return iter(())

    def __or__(cls, other):
        return cls

    __ror__ = __getitem__ = __or__

    def __call__(cls, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else cls


def stand_in(name):
    return Anything(name, (), {})


class Module(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = stand_in(name)
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Everything of Megatron-LM and PyTorch that is not in REAL."""

    def find_spec(self, name, path=None, target=None):
        if name in REAL or name.split(".")[0] not in ("megatron", "torch", "packaging", "numpy", "transformer_engine"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        module.__path__ = [os.path.join(CHECKOUT, *module.__name__.split("."))]


def prepare():
    sys.meta_path.insert(0, Finder())
    import megatron.core.utils as core
    import megatron.training.utils as training
    import numpy
    import torch

    numpy.prod = math.prod
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    core.is_te_min_version = core.is_torch_min_version = lambda *_: True
    training.get_device_arch_version = lambda: 9
    training.warn_rank_0 = training.print_rank_0 = lambda *_, **__: None

    def update_use_dist_ckpt(args):
        args.use_dist_ckpt = args.ckpt_format != "torch"

    training.update_use_dist_ckpt = update_use_dist_ckpt
    package = importlib.import_module("megatron.core.transformer")
    real = importlib.import_module("megatron.core.transformer.transformer_config")
    package.TransformerConfig = real.TransformerConfig
    package.MLATransformerConfig = real.MLATransformerConfig


def judge(line):
    world, environment, flags = line.rstrip("\n").split("\t")
    os.environ["WORLD_SIZE"], os.environ["RANK"] = world, "0"
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    for word in environment.split():
        name, value = word.split("=", 1)
        os.environ[name] = value
    words = shlex.split(flags)
    for name, value in (("$TOKENIZER", "t"), ("$DATA", "d"), ("$ITERATIONS", "10"), ("$LEARNING_RATE", "1e-4")):
        words = [value if word == name else word for word in words]
    arguments = importlib.import_module("megatron.training.arguments")
    sys.argv = ["pretrain_gpt.py", *words]
    args = arguments.parse_args()
    arguments.validate_args(args)
    arguments.core_transformer_config_from_args(args)


def main():
    prepare()
    wrong = count = 0
    for line in sys.stdin:
        count += 1
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                judge(line)
        except (Exception, SystemExit) as error:  # whatever stops it would stop the user
            wrong += 1
            if wrong <= 10:
                print(f"{type(error).__name__}: {error}\n  {line}", end="")
                if os.environ.get("REHEARSE_TRACE"):
                    raise
    print(f"{count} launches, {wrong} refused by Megatron-LM's own validation")
    return 1 if wrong or count == 0 else 0


CHECKOUT = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)
sys.path.insert(0, CHECKOUT)
sys.exit(main())
