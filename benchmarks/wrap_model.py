"""Give our MiniLM the shape that mcp-memory-service expects of its own; runs in an environment that has `onnx`.

Ours ends in one vector a text, theirs in one a token, of which it takes the mean. An axis of length one makes both the
same: the mean over a row that is repeated is that row. Run: python wrap_model.py FROM TO
"""

import importlib
import sys

onnx = importlib.import_module("onnx")  # is installed in that environment only
source, target = sys.argv[1:]
model = onnx.load(source)
(pooled,) = model.graph.output
axis = onnx.helper.make_tensor("token_axis", onnx.TensorProto.INT64, [1], [1])
model.graph.initializer.append(axis)
model.graph.node.append(onnx.helper.make_node("Unsqueeze", [pooled.name, "token_axis"], ["last_hidden_state"]))
shape = ["texts", 1, 384]
model.graph.output.append(onnx.helper.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, shape))
model.graph.output.remove(pooled)
onnx.save(model, target)
