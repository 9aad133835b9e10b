# SPDX-License-Identifier: Apache-2.0
"""The mixing GEMMs of a small model as PyTorch makes them: eager, and in a CUDA graph over memory of its caching
allocator, which is used anew at once. Prints a checksum of all results. Knows nothing of mhcshadow.

    torch_client.py bf16|bf16-no-reduction|fp16|tf32|fp32 PASSES
"""
import hashlib
import sys

import torch
from torch.nn.functional import linear

LAYERS, HIDDEN, PREFILL, DECODE = 8, 4096, 512, 16


def set_up(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = precision != "bf16-no-reduction"
    return {"bf16": torch.bfloat16, "bf16-no-reduction": torch.bfloat16, "fp16": torch.float16}.get(
        precision, torch.float32
    )


def forward(x, weights):
    """Each layer's coefficients; what the next layer gets depends on them, so that none can be left out."""
    results = []
    for fn in weights:
        mixes = linear(x, fn)
        results.append(mixes)
        x = x + (x * torch.sigmoid(mixes[:, :1])).to(x.dtype) * 0.01
    return torch.cat(results)


def main(precision, passes):
    dtype = set_up(precision)
    generator = torch.Generator(device="cuda").manual_seed(1)

    def normal(*shape, scale=1.0):
        return (torch.randn(*shape, generator=generator, device="cuda") * scale).to(torch.bfloat16).to(dtype)

    weights = [normal(24, 4 * HIDDEN, scale=0.04) for _ in range(LAYERS)]
    digest = hashlib.sha256()

    def note(results):
        digest.update(results.float().cpu().numpy().tobytes())

    static_x = normal(DECODE, 4 * HIDDEN)
    for _ in range(3):  # a warm-up, as every server makes one
        forward(static_x, weights)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_out = forward(static_x, weights)
    for _ in range(passes):
        note(forward(normal(PREFILL, 4 * HIDDEN), weights))
        for _ in range(8):
            static_x.copy_(normal(DECODE, 4 * HIDDEN))
            graph.replay()
            note(static_out)
    print(
        f"torch {torch.__version__}, {precision}, {passes} passes of {LAYERS} mixing GEMMs, {digest.hexdigest()[:16]}"
    )


if __name__ == "__main__":
    if not torch.cuda.is_available():
        print("PyTorch finds no GPU")
        sys.exit(77)
    main(sys.argv[1], int(sys.argv[2]))
