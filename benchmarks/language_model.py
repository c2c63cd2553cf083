"""How fast texts of a language model are written, beside what they cannot do without and beside transformers' own way.

Every figure is CPU time of this process, since other programs may run. The floor is the products with the model's
weights: for each prompt once, and for each token of 128 texts that are written together; timed alone. The other way
is `generate` of transformers with the same temperature, top_p and top_k, for 128 copies of the prompt.

    python benchmarks/language_model.py [--model smollm2]

Not measured: tilts and rounds, which `deniable synthesize` adds (four rounds of 384 texts), and reading (a study).
"""

import argparse
import time

import numpy as np

import deniable as dn
from deniable.language.options import WritingOptions
from deniable.language.writing import TextRequest, write_texts

PROMPT = "Write a film review, as a viewer would write it."


def measure_ours(model: dn.LanguageModel, prompt: tuple[int, ...], options: WritingOptions) -> tuple[float, int]:
    """Return the CPU seconds of one batch after another one, and its number of tokens."""
    requests = [TextRequest(f"text {number}", prompt, 0) for number in range(2 * options.batch)]
    texts = write_texts(model, requests, np.zeros((1, model.card.vocabulary)), bytes(32), options)
    next(texts)
    start = time.process_time()
    tokens = sum(map(len, next(texts)))
    return time.process_time() - start, tokens


def measure_floor(model: dn.LanguageModel, options: WritingOptions) -> float:
    """Return the CPU seconds of the products of a batch of texts with all weights of the model."""
    import torch

    layers = [module for module in model.network.modules() if isinstance(module, torch.nn.Linear)]
    inputs = [torch.randn(options.batch, layer.in_features, dtype=layer.weight.dtype) for layer in layers]
    start = time.process_time()
    with torch.inference_mode():
        for _ in range(options.max_tokens):
            for layer, rows in zip(layers, inputs, strict=True):
                layer(rows)
    return time.process_time() - start


def measure_generate(model: dn.LanguageModel, prompt: tuple[int, ...], options: WritingOptions) -> tuple[float, int]:
    """Return the CPU seconds of one batch of transformers' own, and its number of tokens."""
    import torch

    rows = torch.tensor([prompt] * options.batch)
    start = time.process_time()
    with torch.inference_mode():
        found = model.network.generate(
            rows,
            attention_mask=torch.ones_like(rows),
            do_sample=True,
            temperature=options.temperature,
            top_p=options.top_p,
            top_k=options.top_k,
            max_new_tokens=options.max_tokens,
            min_new_tokens=options.min_tokens,
            pad_token_id=min(model.end_tokens),
        )
    written = found[:, len(prompt) :]
    return time.process_time() - start, int((written != min(model.end_tokens)).sum())


def main() -> None:
    """Print tokens a second and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2", help="file, folder or smollm2 (default)")
    model = dn.LanguageModel.load(parser.parse_args().model)
    options, prompt = WritingOptions(), tuple(model.build_prompt(PROMPT, ""))
    floor = measure_floor(model, options)
    print(f"{model.card.name}: {options.batch} texts of at most {options.max_tokens} tokens, prompt of {len(prompt)}")
    print("| way | tokens | CPU s | tokens a CPU second | CPU s, of the floor's |")
    print("|---|---:|---:|---:|---:|")
    ways = {"deniable": measure_ours, "transformers, generate": measure_generate}
    rows = [(name, *measure(model, prompt, options)) for name, measure in ways.items()]
    for name, seconds, tokens in [*rows, ("products alone", floor, options.batch * options.max_tokens)]:
        print(f"| {name} | {tokens:,} | {seconds:.1f} | {tokens / seconds:,.0f} | {seconds / floor:.2f} |")


if __name__ == "__main__":
    main()
