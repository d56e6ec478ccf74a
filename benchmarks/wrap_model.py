"""Give our MiniLM the shape that mcp-memory-service expects of its own; runs in an environment that
has `onnx`.

Ours ends in one vector a text, theirs in one a token, of which it takes the mean. An axis of length
one makes both the same: the mean over a row that is repeated is that row.
Run: python wrap_model.py FROM TO
"""

import importlib
import sys

onnx = importlib.import_module("onnx")  # is installed in that environment only
source, target = sys.argv[1:]
model = onnx.load(source)
(pooled,) = model.graph.output
helper, kinds = onnx.helper, onnx.TensorProto
model.graph.initializer.append(helper.make_tensor("token_axis", kinds.INT64, [1], [1]))
added = helper.make_node("Unsqueeze", [pooled.name, "token_axis"], ["last_hidden_state"])
model.graph.node.append(added)
shape = ["texts", 1, 384]
model.graph.output.append(helper.make_tensor_value_info("last_hidden_state", kinds.FLOAT, shape))
model.graph.output.remove(pooled)
onnx.save(model, target)
