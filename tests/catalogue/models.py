"""Models of every kind, trained for a moment, and damaged ones."""

import shutil

import numpy as np

import deniable as dn
from tests.catalogue.folder import MORE_WORDS, REVIEWS
from tests.small_llama import build_word_tokenizer, save_llama


def make_models(folder):
    """Train the models that commands read, for a moment each, and write damaged ones beside them."""
    space = dn.Space.load(str(folder / "words.npz"), metric="euclidean")
    texts = dn.texts.tokenize_texts(space, [row[0] for row in REVIEWS[:20]]).texts
    labels = np.array([row[1] == "good" for row in REVIEWS[:20]]).astype(np.int64)
    options = dn.texts.TextTrainingOptions(epochs=1)
    single = dn.texts.Documents(texts, labels, ("bad", "good"))
    pairs = dn.texts.Documents(texts, labels, ("bad", "good"), texts)
    dn.texts.save_model(dn.texts.fit_text_model("fasttext", space, single, options, seed=1), folder / "text.pt")
    dn.texts.save_model(dn.texts.fit_text_model("bow", space, pairs, options, seed=1), folder / "pairs.pt")
    plain = dn.images.IMAGE_TRAINERS["plain"]
    images = dn.images.read_images(folder / "images.npz")
    model = dn.images.fit_image_model(plain, images, plain.choose_options(steps=1, width=0.1), seed=1)
    dn.images.save_model(model, folder / "image.pt")
    dn.images.save_model(dn.images.smooth_image_model(model, 0.1), folder / "noisy.pt")
    small = dn.rewriting.RewriterOptions(latent=8, hidden=12, embedding=6, epochs=1, max_tokens=12)
    corpus = [row[0] for row in REVIEWS[:30]]
    dn.texts.save_model(dn.rewriting.fit_rewriter(corpus[:27], corpus[27:], small, seed=1), folder / "rewriter.pt")
    whole = (folder / "text.pt").read_bytes()
    half = len(whole) // 2
    (folder / "cut.pt").write_bytes(whole[:half])
    (folder / "changed.pt").write_bytes(whole[:half] + bytes([whole[half] ^ 255]) + whole[half + 1 :])
    (folder / "empty.pt").write_bytes(b"")


def make_language_models(folder):
    """Write tiny language models, and folders that look like some."""
    tokenizer = build_word_tokenizer([*MORE_WORDS, "write", "review"])
    llama = save_llama(folder / "llama", tokenizer)
    save_llama(folder / "llama_short", tokenizer, context=64)
    for name in ("no_tokenizer", "bert"):
        shutil.copytree(llama, folder / f"llama_{name}")
    for file in (folder / "llama_no_tokenizer").glob("token*"):
        file.unlink()
    import torch
    import transformers

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.BertConfig(vocab_size=tokenizer.get_vocab_size(), initializer_range=0.5, **sizes)
    transformers.BertForMaskedLM(config).save_pretrained(folder / "llama_bert")
