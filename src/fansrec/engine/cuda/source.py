"""The constants of the kernels, read from their source, so that Python has no second copy of them."""

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

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
