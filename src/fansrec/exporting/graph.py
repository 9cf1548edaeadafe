"""An ONNX graph under construction: `g.Add(x, 1)` adds a node and returns the name of its output.

Operators have the names of the ONNX standard. Their inputs are names of values, or numbers, arrays and tensors, which
become constants: an int is an int64, a float a float32.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper
from torch import Tensor

INT64, FLOAT, DOUBLE, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL

Value = str  # the name of a tensor in the graph
Operand = Value | float | np.generic | NDArray[Any] | Tensor | Sequence[int]


class Constants:
    """The constants of a graph and of all graphs inside it; a tensor is stored once, however often it is used."""

    def __init__(self) -> None:
        self.arrays: dict[Value, NDArray[Any]] = {}
        self._tensors: dict[Any, Value] = {}
        self.values = 0

    def fresh(self) -> Value:
        self.values += 1
        return f"v{self.values}"

    def name_of(self, constant: Any) -> Value:
        if not isinstance(constant, Tensor):
            return self._kept(np.asarray(constant, dtype=np.float32 if type(constant) is float else None))
        key = (constant.data_ptr(), constant.shape, constant.stride())
        if key not in self._tensors:
            self._tensors[key] = self._kept(constant.detach().cpu().numpy())
        return self._tensors[key]

    def _kept(self, array: NDArray[Any]) -> Value:
        name = self.fresh()
        self.arrays[name] = array
        return name


def described(name: Value, kind: int, shape: Sequence[str] | None = None, description: str = "") -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape, doc_string=description)


class Graph:
    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self.nodes: list[NodeProto] = []

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if not operator[0].isupper():
            raise AttributeError(operator)
        return lambda *inputs, **attributes: self._node(operator, inputs, **attributes)

    def _node(self, operator: str, inputs: Sequence[Operand], outputs: int = 1, **attributes: Any) -> Any:
        """Add a node and return the name of its output, or of all of them if there are several `outputs`."""
        names = [self.constants.fresh() for _ in range(outputs)]
        given = [value if isinstance(value, str) else self.constants.name_of(value) for value in inputs]
        self.nodes.append(helper.make_node(operator, given, names, **attributes))
        return names if outputs > 1 else names[0]

    def loop(
        self,
        times: Operand,
        step: Callable[..., Sequence[Value]],
        state: Sequence[tuple[Operand, int]] = (),
        collected: Sequence[int] = (),
        go_on: Callable[..., Value] | None = None,
    ) -> Any:
        """Add a loop and return the last state, followed by the collected values, stacked over all iterations.

        `step(inner graph, turn, *state)` returns the next state and what is collected. `state` has values and their
        types, `collected` types; `go_on(graph, *state)` returns whether there is another iteration.
        """
        inner = Graph(self.constants)
        turn, goes, *carried = [self.constants.fresh() for _ in range(2 + len(state))]
        kinds = [kind for _, kind in state]
        results = step(inner, turn, *carried)
        goes_on = inner.Identity(goes) if go_on is None else go_on(inner, *results[: len(state)])
        outputs = [goes_on, *map(inner.Identity, results)]
        body = helper.make_graph(
            inner.nodes,
            self.constants.fresh(),
            [described(turn, INT64, []), described(goes, BOOL, []), *map(described, carried, kinds)],
            [described(outputs[0], BOOL, []), *map(described, outputs[1:], [*kinds, *collected])],
        )
        starts = go_on(self, *[value for value, _ in state]) if go_on is not None else True
        inputs = [times, starts, *(value for value, _ in state)]
        return self._node("Loop", inputs, outputs=len(state) + len(collected), body=body)
