"""How fast texts of a language model are written and guessed, beside what neither can do without.

Ratios are of CPU time of this process, since other programs may run. The floor is the products with the model's
weights, timed alone. Of writing: for each token of 128 texts that are written together; beside it `generate` of
transformers with the same temperature, top_p and top_k, for 128 copies of the prompt. Of a reader who knows the words
before each word, of film reviews cut after 100 words: for each token once, which says nothing of words of several
tokens, and of no word what came out.

    python benchmarks/language_model.py [--model smollm2] [--data DIR] [--texts 100]

Not measured: tilts and rounds, which `deniable synthesize` adds (four rounds of 384 texts).
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import deniable as dn
from deniable.language.options import WritingOptions
from deniable.language.writing import TextRequest, write_texts
from deniable.measure.reading import ReadingPlan, build_reader, measure_reading

PROMPT = "Write a film review, as a viewer would write it."
WORDS = 100
ROWS = 1_024
"""Tokens whose products are timed together, about as many as are read together."""


def measure_ours(model: dn.LanguageModel, prompt: tuple[int, ...], options: WritingOptions) -> tuple[float, int]:
    """Return the CPU seconds of one batch after another one, and its number of tokens."""
    requests = [TextRequest(f"text {number}", prompt, 0) for number in range(2 * options.batch)]
    texts = write_texts(model, requests, np.zeros((1, model.card.vocabulary)), bytes(32), options)
    next(texts)
    start = time.process_time()
    tokens = sum(map(len, next(texts)))
    return time.process_time() - start, tokens


def measure_floor(model: dn.LanguageModel, tokens: int, times: int) -> float:
    """Return the CPU seconds of the products of so many tokens with all weights of the model, so many times."""
    import torch

    layers = [module for module in model.network.modules() if isinstance(module, torch.nn.Linear)]
    inputs = [torch.randn(tokens, layer.in_features, dtype=layer.weight.dtype) for layer in layers]
    start = time.process_time()
    with torch.inference_mode():
        for _ in range(times):
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


def read_reviews(path: Path, count: int) -> list[str]:
    """Return so many film reviews, cut after 100 words."""
    reviews = pq.read_table(path, columns=["text"])["text"].to_pylist()[:count]
    return [" ".join(review.replace("<br />", " ").split()[:WORDS]) for review in reviews]


def measure_guesses(model: dn.LanguageModel, texts: list[str]) -> tuple[float, int, int]:
    """Return the CPU seconds of a reader who knows the words before each word, and numbers of words and tokens."""
    mechanism = dn.CalibratedExponential(dn.Space.glove(), epsilon=2.656)
    batch = dn.measure.privatize_texts(mechanism, texts, seed=0)
    reader = build_reader(model, mechanism.space, opening="A film review:")
    start = time.process_time()
    measure_reading(mechanism, texts, batch, reader, plan=ReadingPlan(("before",)))
    seconds = time.process_time() - start
    tokens = sum(map(len, model.encode(texts)))
    return seconds, int((~batch.unknown_mask).sum()), tokens


def main() -> None:
    """Print tokens a second and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2", help="file, folder or smollm2 (default)")
    parser.add_argument("--data", type=Path, help="folder with imdb_test.parquet; without it nothing is guessed")
    parser.add_argument("--texts", type=int, default=100, help="reviews to guess (default 100)")
    arguments = parser.parse_args()
    model = dn.LanguageModel.load(arguments.model)
    options, prompt = WritingOptions(), tuple(model.build_prompt(PROMPT, ""))
    floor = measure_floor(model, options.batch, options.max_tokens)
    print(f"{model.card.name}: {options.batch} texts of at most {options.max_tokens} tokens, prompt of {len(prompt)}")
    print("| way | tokens | CPU s | tokens a CPU second | CPU s, of the floor's |")
    print("|---|---:|---:|---:|---:|")
    ways = {"deniable": measure_ours, "transformers, generate": measure_generate}
    rows = [(name, *measure(model, prompt, options)) for name, measure in ways.items()]
    for name, seconds, tokens in [*rows, ("products alone", floor, options.batch * options.max_tokens)]:
        print(f"| {name} | {tokens:,} | {seconds:.1f} | {tokens / seconds:,.0f} | {seconds / floor:.2f} |")
    if arguments.data is not None:
        texts, start = read_reviews(arguments.data / "imdb_test.parquet", arguments.texts), time.perf_counter()
        seconds, words, tokens = measure_guesses(model, texts)
        wall, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        floor = measure_floor(model, min(tokens, ROWS), max(tokens // ROWS, 1))
        print(
            f"\n{len(texts):,} texts, {words:,} words guessed, {tokens:,} tokens: {seconds:.1f} CPU s, "
            f"{words / seconds:,.0f} words a CPU second, {seconds / floor:.1f} times the floor ({floor:.1f} CPU s); "
            f"{wall:.0f} s by the clock, {peak:.2f} GB at most"
        )


if __name__ == "__main__":
    main()
