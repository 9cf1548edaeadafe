"""The sizes of the kernels for a model: macros to compile them with, and the shared memory of every launch.

Constants and sizes are read from the source of the kernels, so that Python has no second copy of them.
"""

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.models.alphabet import SPECIALS
from fansrec.models.fans import Fans
from fansrec.models.sequence.sasrec import SasRec

CONSTANT = re.compile(r"^constexpr int (\w+) = (.+?);", re.M)
FUNCTION = re.compile(r"^__device__ constexpr int (\w+)\(([^)]*)\) \{ return (.+?); \}", re.M)
OPERATIONS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a // b,  # of numbers that are not negative, as C++ divides them
    ast.Gt: lambda a, b: int(a > b),
}


@cache
def _declarations(path: Path) -> tuple[dict[str, str], dict[str, tuple[list[str], str]]]:
    """Return the expressions of the constants, and the parameters and expressions of the functions of a source file."""
    text = path.read_text()
    functions = {
        name: ([parameter.split()[-1] for parameter in parameters.split(",")], expression)
        for name, parameters, expression in FUNCTION.findall(text)
    }
    return dict(CONSTANT.findall(text)), functions


class KernelConstants:
    """The constants and functions of sizes.cuh, for the sizes of one model."""

    def __init__(self, macros: Mapping[str, int]) -> None:
        self._macros = macros
        self._constants, self._functions = _declarations(Path(__file__).parent / "sizes.cuh")

    def constant(self, name: str) -> int:
        """Return the value of a macro or of a constant."""
        return self._macros[name] if name in self._macros else self._evaluate(self._constants[name], {})

    def call(self, name: str, *arguments: int) -> int:
        """Return the value of a function."""
        parameters, expression = self._functions[name]
        return self._evaluate(expression, dict(zip(parameters, arguments, strict=True)))

    def _evaluate(self, expression: str, names: Mapping[str, int]) -> int:
        if "?" in expression:
            condition, rest = expression.split("?", 1)
            expression = rest.split(":", 1)[0 if self._evaluate(condition, names) else 1]
        return self._value(ast.parse(expression.strip(), mode="eval").body, names)

    def _value(self, node: ast.expr, names: Mapping[str, int]) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return value
            case ast.Name(id=name):
                return names[name] if name in names else self.constant(name)
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]) if (
                type(op) in OPERATIONS
            ):
                return OPERATIONS[type(op)](self._value(left, names), self._value(right, names))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.call(name, *(self._value(argument, names) for argument in arguments))
        raise ValueError(f"sizes.cuh has an expression that cannot be read: {ast.unparse(node)}")


_FIXED = KernelConstants({})
CLUSTER, WARPS, THREADS, TILE, BLOCK, INLINE = map(
    _FIXED.constant, ("CLUSTER", "WARPS", "THREADS", "TILE", "BLOCK", "INLINE")
)
DECIDE_MEMORY = _FIXED.constant("DECIDE_BYTES")
MOST_DEPTH = _FIXED.constant("MOST_DEPTH")
LONGEST_ANSWER = 512  # positions


def feedforward(config: Any) -> int:
    """Return the width of the feed-forward part, which in SASRec is that of the model."""
    return int(getattr(config, "feedforward", config.width))


def macros(model: Any, two_stage: bool, categories: int) -> dict[str, int]:
    """Return the macros that the kernels are compiled with; `categories` is the number that the model knows."""
    config = model.config
    return {
        "WIDTH": config.width,
        "HEADS": config.heads,
        "FEEDFORWARD": feedforward(config),
        "LAYERS": config.layers,
        "CATEGORIES": categories,
        "TWO_STAGE": int(two_stage),
        "EMBED_CATEGORIES": int(model.embed.categories is not None),
        "SEGMENTED": int(isinstance(model, Fans)),
        "CAUSAL": int(isinstance(model, SasRec)),
        "SASREC": int(isinstance(model, SasRec)),
        **{"TIED": 0, "READ_NEXT": 0, "READ_MASKS": 0, "READ_CATEGORIES": 1},  # of the hybrid model
        "HALVES": 1,
        "TEAM": CLUSTER,
    }


def encoding_sizes(kernel: KernelConstants) -> list[int]:
    """Return the bytes of shared memory of `encode` by the number of tiles, as far as they fit."""
    sizes = [0]
    while (size := kernel.call("encode_bytes", len(sizes))) <= SHARED_MEMORY:
        sizes.append(size)
    return sizes


class Sizes:
    """Bytes of shared memory for every number of tiles and every length of an answer that fits."""

    def __init__(self, macros: dict[str, int], blocks: int, items: int, longest_sequence: int) -> None:
        kernel = KernelConstants(macros)
        self.encoding = encoding_sizes(kernel)  # by tiles
        self.most_tokens = min((len(self.encoding) - 1) * TILE, longest_sequence + SPECIALS)
        sizes = [kernel.call("decide_bytes", blocks, k) for k in range(min(LONGEST_ANSWER, items) + 1)]
        self.deciding = [size for size in sizes if size <= DECIDE_MEMORY]  # by positions
        self.longest_answer = len(self.deciding) - 1


@cache
def longest_shortlist(k: int, groups: bool) -> int:
    """Return the most entries of the shortlists of k positions; more if limits per group may skip some."""
    return _FIXED.call("with_skipped", k) if groups else k


def tiles_of(items: int) -> int:
    """Return the number of tiles for a list with this many items, input and answer together."""
    return -(-(items + SPECIALS) // TILE)
