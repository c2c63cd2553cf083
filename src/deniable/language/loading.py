"""Networks and tokenizers by transformers: offline, without the code of others, and only such as read left to right."""

import contextlib
import functools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from deniable.core.errors import InputError, import_extra, is_interruption, shorten_text
from deniable.language.files import measure_size
from deniable.language.readings import Readings, prepare_readings

OWNER, EXTRA = "A language model", "lm"
"""What needs an extra, and which."""
_MAX_LAYERS = 1_024
_MAX_PARAMETERS = 2**32
"""Weights of a model, at most: 8 GiB as they are held here."""
_MAX_LEAK = 0.01
"""Share of their spread by which logits may move with later tokens: not at all, but for how a device rounds."""
_MAX_SHIFT = 0.1
"""The same beside other texts, and in parts, which moves those of SmolLM2 by .015 in bfloat16."""


def load_network(path: Path, header: Any, device: str) -> tuple[Any, Any]:  # noqa: ANN401 - gguf has no types
    """The network and the tokenizer of a GGUF file or folder.

    Args:
        path: of the model.
        header: of the file, see `deniable.language.files.open_header`.
        device: where torch computes.

    Raises:
        Exception: of any kind, where the files hold no causal language model with a tokenizer.
    """
    import torch

    transformers = import_extra("transformers", OWNER, EXTRA)
    folder = path.parent if path.is_file() else path
    settings: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if path.is_file():
        settings["gguf_file"] = path.name
    with _read_once(header):
        config = transformers.AutoConfig.from_pretrained(folder, **settings)
        if type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING or getattr(config, "is_encoder_decoder", False):
            raise ValueError(f"transformers has no causal language model of the kind {config.model_type!r}")
        _check_declared_size(config, path)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **settings)
        network, found = transformers.AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=torch.bfloat16, use_safetensors=True, output_loading_info=True, **settings
        )
    if found["missing_keys"]:  # they would be random
        missing = sorted(found["missing_keys"])
        raise ValueError(f"{len(missing):,} of its weights are missing, such as {missing[0]!r}")
    prepare_readings(network)
    return network.eval().to(device), tokenizer


@contextlib.contextmanager
def _read_once(header: Any) -> Iterator[None]:  # noqa: ANN401 - see `load_network`
    """Let transformers take the header that was checked, in place of reading the file three times more."""
    if header is None:
        yield
        return
    gguf = import_extra("gguf", OWNER, EXTRA)
    reader = gguf.GGUFReader
    gguf.GGUFReader = lambda *_, **__: header
    try:
        yield
    finally:
        gguf.GGUFReader = reader


def _check_declared_size(config: Any, path: Path) -> None:  # noqa: ANN401 - of transformers
    """Refuse a model that says it has more weights than its files can hold, before there is room made for them."""
    import torch

    transformers = import_extra("transformers", OWNER, EXTRA)
    layers = getattr(config.get_text_config(), "num_hidden_layers", 0)
    if not isinstance(layers, int) or not 0 <= layers <= _MAX_LAYERS:
        raise ValueError(f"it says that it has {layers!r} layers, and at most {_MAX_LAYERS:,} are read")
    with torch.device("meta"):
        network = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    declared, bits = sum(weights.numel() for weights in network.parameters()), 8 * measure_size(path)
    if declared > min(bits, _MAX_PARAMETERS):
        raise ValueError(
            f"it says that it has {declared:,} weights, and its files have {bits // 8:,} bytes; at most "
            f"{_MAX_PARAMETERS:,} weights are read"
        )


def check_reading(network: Any) -> None:  # noqa: ANN401 - of transformers
    """Raise `ValueError` unless a network reads from left to right, also beside others and one token after another.

    An encoder, whose law of a token depends on later ones, passes for a causal model where its class has a head for
    that; others lack what `deniable.language.readings` relies on.
    """
    import torch

    size = int(network.get_output_embeddings().weight.shape[0])
    first, *rest, last, other = [(7 * place + 3) % size for place in range(20)]
    rows = torch.tensor([[first, *rest, last], [first, *rest, other]], device=network.device)
    with torch.inference_mode():
        plain = network(input_ids=rows).logits.float()
        if not bool(torch.isfinite(plain).all()):
            raise ValueError("its logits are not all finite numbers")
    readings = Readings(network, 2)
    begun = readings.read([[other], [first, *rest]], after=np.array([1, len(rest) + 1])).float()
    branch = readings.read_branches([1], [len(rest) + 1], [[last]]).float()
    step = readings.choose([1, 0]).read([[last], [first]]).float()
    shift = torch.stack(
        [begun[0] - plain[0, 0], begun[1] - plain[0, -2], branch[0] - plain[0, -1], step[0] - plain[0, -1]]
    )
    spread = float(plain.std())
    if not float((plain[0, :-1] - plain[1, :-1]).abs().mean()) <= _MAX_LEAK * spread:
        raise ValueError("it does not read from left to right: its probabilities of a token depend on later ones")
    if not float(shift.abs().mean(dim=1).max()) <= _MAX_SHIFT * spread:  # nan too
        raise ValueError("its probabilities change with the texts beside, or when it reads a text token by token")


@contextlib.contextmanager
def refuse_foreign(path: Path) -> Iterator[None]:
    """Turn whatever a file makes transformers raise into one line, and keep its remarks off the terminal."""
    converter = import_extra("transformers.modeling_gguf_pytorch_utils", OWNER, EXTRA)
    logging = import_extra("transformers.utils.logging", OWNER, EXTRA)
    bar = converter.tqdm
    verbosity, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    # The one bar that no setting turns off, once tqdm is imported.
    converter.tqdm = functools.partial(bar, disable=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        if is_interruption(error) or isinstance(error, MemoryError):
            raise
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        reason = shorten_text(str(error)).removesuffix(".")
        raise InputError(
            f"The model {str(path)!r} cannot be read as a causal language model with a tokenizer: {kind}{reason}. "
            "Give another model, or its files again."
        ) from None
    finally:
        converter.tqdm = bar
        logging.set_verbosity(verbosity)
        if has_bars:
            logging.enable_progress_bar()
