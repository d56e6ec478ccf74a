"""Give our MiniLM the shape that mcp-memory-service expects of its own; runs in an environment that
has `onnx`.

Ours takes the rows of a text's words, theirs the numbers of the words and a mask; ours ends in one
vector a text, theirs in one a token, of which it takes the mean. An axis of length one makes both
the same: the mean over a row that is repeated is that row. It embeds one text at a time. Run:
python wrap_model.py FROM ROWS TO
"""

import importlib
import sys
from pathlib import Path

onnx = importlib.import_module("onnx")  # is installed in that environment only
DIMENSIONS = 384
source, rows, target = sys.argv[1:]
model = onnx.load(source)
graph, helper, kinds = model.graph, onnx.helper, onnx.TensorProto
(words,), (pooled,) = graph.input, graph.output
table = Path(rows).read_bytes()
kind = words.type.tensor_type.elem_type
graph.initializer.extend(
    [
        helper.make_tensor(
            "their_rows_of_words", kind, [len(table) // DIMENSIONS, DIMENSIONS], table, raw=True
        ),
        *(
            helper.make_tensor(name, kinds.INT64, [1], [value])
            for name, value in (("their_first", 0), ("their_token_axis", 1))
        ),
    ]
)
before = [
    helper.make_node("ReduceSum", ["attention_mask"], ["their_tokens"], keepdims=0),
    helper.make_node("Unsqueeze", ["their_tokens", "their_first"], ["their_end"]),
    helper.make_node(
        "Slice", ["input_ids", "their_first", "their_end", "their_token_axis"], ["their_ids"]
    ),
    helper.make_node("Gather", ["their_rows_of_words", "their_ids"], [words.name]),
]
after = helper.make_node("Unsqueeze", [pooled.name, "their_token_axis"], ["last_hidden_state"])
nodes = [*before, *graph.node, after]
del graph.node[:], graph.input[:], graph.output[:]
graph.node.extend(nodes)
graph.input.extend(
    helper.make_tensor_value_info(name, kinds.INT64, ["texts", "tokens"])
    for name in ("input_ids", "attention_mask")
)
graph.output.append(
    helper.make_tensor_value_info("last_hidden_state", kinds.FLOAT, ["texts", 1, DIMENSIONS])
)
onnx.save(model, target)
