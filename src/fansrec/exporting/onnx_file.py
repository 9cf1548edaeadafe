"""`fans export`: a trained model as an ONNX file that runs without this package."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from fansrec import __version__
from fansrec.artifact import Artifact, recipe_of
from fansrec.errors import BadSetting
from fansrec.exporting.decoding import by_position, one_by_one
from fansrec.exporting.graph import BOOL, FLOAT, INT64, Constants, Graph, Value, described
from fansrec.exporting.heads import head_of
from fansrec.exporting.hybrid import best_items
from fansrec.exporting.lists import arange, blocked_items, read_lists, with_masks
from fansrec.exporting.network import encode
from fansrec.files import write_atomically, write_bytes
from fansrec.models.fans import Fans
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.registry import command_name
from fansrec.models.sequence.bert4rec import Bert4Rec

OPSET, IR = 20, 9  # read by ONNX Runtime 1.19 and by all later ones
BESIDE = 1 << 30  # bytes of constants from which they are written to a second file: ONNX files are limited to 2 GB
SMALL = 1024  # bytes up to which a constant always stays in the graph
ALIGNED = 4096  # alignment of constants in the second file, so that it can be mapped


def export_onnx(artifact: Artifact, path: Path) -> list[Path]:
    """Write the graph of an artifact's model and return its files: the weights of a very large one are in a second."""
    constants = Constants()
    graph = Graph(constants)
    outputs = answer(graph, artifact.model)
    large = {name: a for name, a in constants.arrays.items() if a.nbytes > SMALL}
    if sum(array.nbytes for array in large.values()) < BESIDE:
        large = {}
    data = path.with_name(path.name + ".data")
    small = [numpy_helper.from_array(a, name) for name, a in constants.arrays.items() if name not in large]
    placed = _placed(large, data.name)
    model = _model(graph, outputs, small + placed, _about(artifact))
    if large:
        write_atomically(data, lambda temporary: _write_data(temporary, large))
    write_bytes(path, model.SerializeToString())
    return [path, data] if large else [path]


def answer(g: Graph, model: Any) -> tuple[Value, Value]:
    """Return items and scores for the graph's inputs `lists`, `k`, `keep_seen` and `exclude`."""
    if not isinstance(model, Fans | HybridFans | Bert4Rec):
        raise BadSetting(f"{model.name} cannot be exported; export fans, bert4rec or bert4rec-nar")
    alphabet = model.config.alphabet
    lists = read_lists(g, "lists")
    k = g.Reshape(g.Min("k", alphabet.items), [1])  # there are no more
    blocked = blocked_items(g, lists, "keep_seen", "exclude", alphabet.items)
    if isinstance(model, HybridFans):
        return best_items(g, model, lists, k, blocked)
    if isinstance(model, Bert4Rec):
        return one_by_one(g, model, lists, k, blocked)
    columns = g.Add(g.Add(lists.lengths, 2), arange(g, k))
    hidden = encode(g, model, with_masks(g, lists, k, alphabet), columns)
    return by_position(g, head_of(g, model.classifier, hidden), g.Shape(columns), blocked)


def _model(
    graph: Graph, outputs: tuple[Value, Value], constants: list[TensorProto], about: Mapping[str, str]
) -> ModelProto:
    names = ("items", "scores")
    for value, name in zip(outputs, names, strict=True):
        graph.nodes.append(helper.make_node("Identity", [value], [name]))
    inputs = [
        described("lists", INT64, ["batch", "length"], "item indices; -1 is skipped"),
        described("k", INT64, [], "number of items to return, at least 1"),
        described("keep_seen", BOOL, [], "whether items of the list may be returned"),
        described("exclude", INT64, ["excluded"], "item indices that are never returned"),
    ]
    given = [
        described("items", INT64, ["batch", "answers"], "item indices; -1 where none is left"),
        described("scores", FLOAT, ["batch", "answers"], "their scores; higher is better"),
    ]
    whole = helper.make_graph(graph.nodes, "fansrec", inputs, given, initializer=constants)
    model = helper.make_model(
        whole, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="fansrec", producer_version=__version__
    )
    model.ir_version = IR
    helper.set_model_props(model, dict(about))
    return model


def _about(artifact: Artifact) -> dict[str, str]:
    """Return metadata of the model for readers of the file."""
    model = artifact.model
    return {
        "model": command_name(model.name),
        "recipe": recipe_of(artifact.config),
        "artifact": artifact.hash,
        "items": str(model.config.alphabet.items),
        "longest_sequence": str(model.longest_sequence()),
    }


def _placed(arrays: Mapping[Value, NDArray[Any]], file: str) -> list[TensorProto]:
    """Return constants that refer to their offsets in a second file."""
    placed, offset = [], 0
    for name, array in arrays.items():
        tensor = TensorProto(
            name=name,
            dims=array.shape,
            data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            data_location=TensorProto.EXTERNAL,
        )
        for key, value in (("location", file), ("offset", offset), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        placed.append(tensor)
        offset = _aligned(offset + array.nbytes)
    return placed


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNED) * ALIGNED


def _write_data(path: Path, arrays: Mapping[Value, NDArray[Any]]) -> None:
    with path.open("wb") as file:
        for array in arrays.values():
            file.seek(_aligned(file.tell()))
            array.tofile(file)
