"""The graph of the embedder's model as it runs: one text at a time.

torch exports a graph for padded batches: a mask in each attention, and shapes computed at run time.
Here the same quantised tensors stand in a graph for one text without padding, with the fused
operators that onnxruntime makes of the exported one. So the vectors are the same bit for bit.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

LAYERS: Final = 6
HEADS: Final = 12
DIMENSIONS: Final = 384  # of a token's vector; each head has its share
SCORE_SCALE: Final = float(np.float32((DIMENSIONS / HEADS) ** -0.5))
# of LayerNorm, and the least length that a vector is divided by. Source: the model's config
EPSILON: Final = 1e-12
FUSED: Final = frozenset(  # contributed operators of onnxruntime, which its own fusions make
    {
        "DynamicQuantizeMatMul",
        "FusedMatMul",
        "Gelu",
        "MatMulIntegerToFloat",
        "SkipLayerNormalization",
    }
)
EMBEDDINGS: Final = "bert.embeddings"
WORDS: Final = f"{EMBEDDINGS}.word_embeddings.weight"


def one_text_model(quantised: onnx.ModelProto) -> onnx.ModelProto:
    """Return the exported and quantised model as a graph for one text; its large tensors keep their
    order.
    """
    writer = _Writer(quantised)
    tokens = _embedded(writer)
    for layer in range(LAYERS):
        tokens = _encoded(writer, layer, tokens)
    _pooled(writer, tokens)
    graph = helper.make_graph(
        writer.nodes,
        "all-MiniLM-L6-v2 of one text",
        [helper.make_tensor_value_info("words_int8", TensorProto.UINT8, [1, "tokens", DIMENSIONS])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, DIMENSIONS])],
        writer.used_tensors(),
    )
    imports = [*quantised.opset_import, helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=quantised.ir_version, opset_imports=imports)


def word_rows(quantised: onnx.ModelProto) -> bytes:
    """Return the embedding of words, a row of `DIMENSIONS` bytes for each id: the graph gets a
    text's rows.
    """
    (rows,) = [
        each.raw_data for each in quantised.graph.initializer if each.name == _quantised(WORDS)[0]
    ]
    return bytes(rows)


class _Writer:
    """The nodes written so far, and the tensors that they use."""

    def __init__(self, quantised: onnx.ModelProto) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self._tensors = {tensor.name: tensor for tensor in quantised.graph.initializer}
        self._weights = {
            node.name: node.input[1]
            for node in quantised.graph.node
            if node.op_type == "MatMulInteger"
        }

    def add(self, kind: str, inputs: Sequence[str], output: str, **attributes: object) -> str:
        """Write a node and return the name of its output, or of its first: outputs are separated by
        blanks.
        """
        domain = "com.microsoft" if kind in FUSED else ""
        self.nodes.append(
            helper.make_node(kind, inputs, output.split(), output, domain=domain, **attributes)
        )
        return output.split(maxsplit=1)[0]

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Keep a tensor under a name and return the name."""
        self._tensors[name] = numpy_helper.from_array(value, name)
        return name

    def array(self, name: str) -> NDArray[np.generic]:
        """Return a tensor's numbers."""
        array: NDArray[np.generic] = numpy_helper.to_array(self._tensors[name])
        return array

    def quantised_weight(self, part: str) -> list[str]:
        """Return the names of the integers, scales and zero points of a layer's matrix, e.g.
        "layer.0/output/dense".
        """
        return _quantised(
            self._weights[f"/bert/encoder/{part}/MatMul_quant"].removesuffix("_quantized")
        )

    def used_tensors(self) -> list[onnx.TensorProto]:
        """Return the tensors that a node reads."""
        used = {name for node in self.nodes for name in node.input}
        return [tensor for name, tensor in self._tensors.items() if name in used]


def _quantised(name: str) -> list[str]:
    return [f"{name}_{part}" for part in ("quantized", "scale", "zero_point")]


def _embedded(writer: _Writer) -> str:
    """Write the sum of each token's word, kind and place, in this order: sums of floats depend on
    it.
    """
    words, kinds, places = (
        _quantised(f"{EMBEDDINGS}.{table}_embeddings.weight")
        for table in ("word", "token_type", "position")
    )
    integers, scale, zero = map(writer.array, kinds)
    kind = (integers[0].astype(np.int32) - zero.astype(np.int32)).astype(
        np.float32
    ) * scale  # the first, of all tokens
    writer.add("DequantizeLinear", ["words_int8", *words[1:]], "words")
    writer.add("Add", ["words", writer.constant("kind", kind)], "words_and_kind")
    writer.add("Shape", ["words_int8"], "count", start=1, end=2)
    first = writer.constant("first", np.array([0]))
    writer.add("Slice", [places[0], first, "count", first], "places_int8")
    writer.add("DequantizeLinear", ["places_int8", *places[1:]], "places")
    writer.add("Add", ["words_and_kind", "places"], "embedded")
    return _normalised(
        writer, "LayerNormalization", ["embedded"], f"{EMBEDDINGS}.LayerNorm", "tokens"
    )


def _encoded(writer: _Writer, layer: int, tokens: str) -> str:
    """Write one layer and return the name of its output."""
    part, own = f"layer.{layer}", f"bert.encoder.layer.{layer}"
    projected = _dense(writer, f"{part}/attention/output/dense", _attended(writer, layer, tokens))
    writer.add("Add", [projected, tokens], f"{part}.sum")
    norm = f"{own}.attention.output.LayerNorm"
    attended = _normalised(
        writer, "LayerNormalization", [f"{part}.sum"], norm, f"{part}.attention_output"
    )
    writer.add(
        "Gelu", [_dense(writer, f"{part}/intermediate/dense", attended)], f"{part}.activated"
    )
    answer = _dense(writer, f"{part}/output/dense", f"{part}.activated")
    return _normalised(
        writer,
        "SkipLayerNormalization",
        [answer, attended],
        f"{own}.output.LayerNorm",
        f"{part}.output",
    )


def _attended(writer: _Writer, layer: int, tokens: str) -> str:
    """Write the attention of a layer; one product makes queries, keys and values."""
    part = f"layer.{layer}"
    names = [f"{part}/attention/self/{name}" for name in ("query", "key", "value")]
    integers, scales, zeros = zip(*map(writer.quantised_weight, names), strict=True)
    biases = [f"bert.encoder.{name}.bias".replace("/", ".") for name in names]

    def joined(name: str, tensors: Sequence[str]) -> str:
        return writer.constant(
            f"{part}.{name}", np.concatenate([writer.array(tensor) for tensor in tensors])
        )

    # joined when the model loads: so the file of weights stays as it is
    writer.add("Concat", integers, f"{part}.weights", axis=1)
    writer.add("DynamicQuantizeLinear", [tokens], f"{part}.int8 {part}.int8_scale {part}.int8_zero")
    writer.add(
        "MatMulIntegerToFloat",
        [
            *(f"{part}.int8", f"{part}.weights", f"{part}.int8_scale", joined("scales", scales)),
            *(f"{part}.int8_zero", joined("zeros", zeros), joined("biases", biases)),
        ],
        f"{part}.projected",
    )
    by_head = writer.constant("by_head", np.array([0, 0, 3 * HEADS, DIMENSIONS // HEADS]))
    writer.add("Reshape", [f"{part}.projected", by_head], f"{part}.by_head")
    writer.add("Transpose", [f"{part}.by_head"], f"{part}.heads", perm=[0, 2, 1, 3])
    thirds = writer.constant("thirds", np.array([HEADS] * 3))
    query, key, value = (f"{part}.{name}" for name in ("query", "key", "value"))
    writer.add("Split", [f"{part}.heads", thirds], f"{query} {key} {value}", axis=1)
    writer.add("FusedMatMul", [query, key], f"{part}.scores", alpha=SCORE_SCALE, transB=1)
    writer.add("Softmax", [f"{part}.scores"], f"{part}.probabilities", axis=-1)
    writer.add("MatMul", [f"{part}.probabilities", value], f"{part}.head_outputs")
    writer.add("Transpose", [f"{part}.head_outputs"], f"{part}.outputs", perm=[0, 2, 1, 3])
    whole = writer.constant("whole", np.array([0, 0, DIMENSIONS]))
    return writer.add("Reshape", [f"{part}.outputs", whole], f"{part}.attended")


def _dense(writer: _Writer, part: str, tokens: str) -> str:
    bias = f"bert.encoder.{part}.bias".replace("/", ".")
    return writer.add("DynamicQuantizeMatMul", [tokens, *writer.quantised_weight(part), bias], part)


def _normalised(writer: _Writer, kind: str, inputs: Sequence[str], norm: str, output: str) -> str:
    return writer.add(kind, [*inputs, f"{norm}.weight", f"{norm}.bias"], output, epsilon=EPSILON)


def _pooled(writer: _Writer, tokens: str) -> None:
    """Write the mean over the tokens, divided by its length."""
    writer.add(
        "ReduceSum", [tokens, writer.constant("token_axis", np.array([1]))], "sum", keepdims=0
    )
    writer.add("Cast", ["count"], "float_count", to=TensorProto.FLOAT)
    writer.add("Div", ["sum", "float_count"], "mean")
    writer.add("ReduceL2", ["mean"], "length", axes=[1])
    writer.add(
        "Clip", ["length", writer.constant("min_length", np.array(EPSILON, np.float32))], "divisor"
    )
    writer.add("Div", ["mean", "divisor"], "embedding")
