"""``deniable train image``: models with true cards, runs that go on, and one line where something is wrong."""

import errno
import hashlib
import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from deniable.cli import model_runs
from deniable.core.numbers import format_upper
from deniable.models.images.reading import read_images
from deniable.registry.models import load_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.cli.image_models import BUDGET, images

PROGRAM = [sys.executable, "-c", "from deniable.cli.start import run; run()"]
WRITTEN = ["m.pt", "m.pt.card.json", "m.pt.card.txt", "m.pt.owner.json"]


@pytest.fixture
def train(call, place):
    """Return a function that trains a small model of images.npz to m.pt, unless told otherwise."""
    images(place / "images.npz")

    def training(*options, model="plain", data="images.npz", output="m.pt", steps=2, width="0.1"):
        size = [] if width is None else ["--width", width]
        given = [data, "--kind", model, "--steps", steps, "-o", output, *size]
        return call("train", "image", *given, *options)

    return training


def budget(name):
    """Return the options that a system needs."""
    uses = IMAGE_TRAINERS[name].option_names
    return [*(BUDGET[:2] if "epsilon" in uses else ()), *(BUDGET[2:] if "delta" in uses else ())]


def weights(path):
    return load_image_model(path).network.state_dict()


def same(one, other):
    """Say whether two model files hold the same numbers, bit for bit."""
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def strict(path):
    """Return JSON that has no infinity and no NaN."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(path.read_text("utf-8"), parse_constant=refuse)


@pytest.mark.parametrize("name", IMAGE_TRAINERS)
def test_every_system(train, call, place, name):
    """Every system trains and can be certified, with the accuracy alone on stdout and no checkpoint left."""
    deterministic = {"dp-sgd", "dp-adversarial", "dp-sgd-batch-clipped", "adversarial", "plain"}
    noise = ["--noise", "0.1"] if name in deterministic else []
    result = train(*budget(name), model=name)
    assert result.code == 0, result.err
    assert re.fullmatch(r"clean accuracy [01]\.\d{3}\n", result.text)
    assert sorted(path.name for path in place.iterdir() if path.name.startswith("m.pt")) == WRITTEN
    card = strict(place / "m.pt.card.json")
    assert f"{card['clean accuracy']['value']:.3f}" in result.text
    assert (place / "m.pt.card.txt").read_text() in result.err
    certified = call("certify", "image", "m.pt", "images.npz", "--draws", "20", "--limit", "3", *noise)
    if name == "adlm":
        assert (certified.code, certified.out) == (2, b"")
    else:
        assert (certified.code, certified.err) == (0, "")
        assert "radius above 0: certified accuracy" in certified.text


def test_a_private_card(train, place):
    """The card of a private model holds its guarantee, both adjacencies, and a commitment that its owner can open."""
    assert train(*BUDGET, model="dp-cert").code == 0
    card, text = strict(place / "m.pt.card.json"), (place / "m.pt.card.txt").read_text()
    held, accounting = card["training records"], card["accounting"]
    ideal = "proved for ideal arithmetic"
    assert held["status"] == held["verdict"]["status"] == ideal
    assert held["adjacency"] == "one record made empty: the number of records and the sampling rate are public"
    spent = accounting["epsilon, one record made empty"]
    assert 1.9 < spent <= 2
    assert spent < accounting["epsilon, replace one record"]
    assert held["guarantee"] == f"({format_upper(spent, 6)}, 0.01)-DP"
    assert f"\n  guarantee  {held['guarantee']}\n" in text
    assert f"\n  status     {ideal}\n" in text
    assert not any("training images:" in line for line in card["not protected"])
    owner = strict(place / "m.pt.owner.json")
    assert owner["fingerprint"] == read_images(place / "images.npz").fingerprint
    opened = hashlib.blake2b(owner["fingerprint"].encode(), key=bytes.fromhex(owner["key"]), digest_size=16)
    assert opened.hexdigest() == card["data"]["commitment"] == owner["commitment"]
    assert owner["fingerprint"] not in json.dumps(card)
    assert stat.S_IMODE((place / "m.pt.owner.json").stat().st_mode) == 0o600
    shares = [point["value"] for point in card["certificate"]["certified accuracy"]]
    assert shares == sorted(shares, reverse=True)
    assert card["certificate"]["status"] == ideal


def test_the_owners_file_is_never_open_to_others(train, place, monkeypatch):
    """The owner's file is for its owner alone before anything is in it."""
    created, before = {}, os.open

    def noted(path, flags, mode=0o777, **options):
        descriptor = before(path, flags, mode, **options)
        if ".owner.json." in str(path):
            created[Path(path).suffix] = os.fstat(descriptor).st_mode & 0o777, os.fstat(descriptor).st_size
        return descriptor

    monkeypatch.setattr("os.open", noted)
    assert train().code == 0
    assert created == {".part": (0o600, 0)}
    assert stat.S_IMODE((place / "m.pt.owner.json").stat().st_mode) == 0o600


def test_a_public_seed_is_not_private(train, place):
    """With a public seed two runs are equal, and the card says that nothing is protected."""
    for output in ("m.pt", "n.pt", "o.pt"):
        assert (
            train(*BUDGET, *(("--test-seed", "7") if output != "o.pt" else ()), model="dp-sgd", output=output).code == 0
        )
    assert same(place / "m.pt", place / "n.pt")
    assert not same(place / "m.pt", place / "o.pt")
    held = strict(place / "m.pt.card.json")["training records"]
    assert held == {"guarantee": "none", "status": "not private: the seed of the noise is public"}
    assert "not private: the seed of the noise is public" in (place / "m.pt.card.txt").read_text()


@pytest.mark.parametrize("name", ["plain", "adlm", "dpal"])
def test_cards_that_prove_nothing(train, place, name):
    """The card of a model without a proof says that its training images are not protected."""
    assert train(*budget(name), model=name).code == 0
    card = strict(place / "m.pt.card.json")
    assert not card["training records"]["status"].startswith("proved")
    assert card["not protected"][0] == "the training images: no guarantee about them holds by proof"


def test_names_of_any_kind(train, place):
    """Files may have spaces, characters of any script and line ends in their names."""
    (place / "d ä 漢.npz").write_bytes((place / "images.npz").read_bytes())
    assert train(data="d ä 漢.npz", output="m ß\n漢.pt").code == 0
    assert (place / "m ß\n漢.pt.card.txt").exists()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("nope", [], "Invalid value for '--kind': 'nope' is not one of dp-sgd, "),
        ("dp-sdg", [], "Did you mean 'dp-sgd'? See: deniable train image --help"),
        ("plain", ["--epochs", "3"], "No such option: --epochs"),
        ("plain", ["--label", "x"], "No such option: --label"),
        ("plain", ["--epsilon", "1"], "--epsilon means nothing to plain, which takes "),
        ("pixeldp", ["--augmentations", "2"], "--augmentations means nothing to pixeldp, which takes --attack-size, "),
        ("dp-sgd", ["--epsilon", "1"], "Training dp-sgd needs delta: give --delta, for example 1e-5."),
        ("dpal", [], "Training dpal needs epsilon"),
        ("dp-sgd", ["--epsilon", "nan", "--delta", "1e-5"], "must be a float in (0, inf). Got nan."),
        ("dp-sgd", ["--epsilon", "inf", "--delta", "1e-5"], "must be a float in (0, inf). Got inf."),
        ("dp-sgd", ["--epsilon", "1", "--delta", "0"], "must be a float in (0, 1). Got 0.0."),
        ("dp-sgd", ["--epsilon", "1", "--delta", "1"], "must be a float in (0, 1). Got 1.0."),
        ("dp-sgd", ["--epsilon", "1", "--delta", "nan"], "must be a float in (0, 1). Got nan."),
        ("dp-sgd", ["--averaging-decay", "1"], "must be a float in [0, 1). Got 1.0."),
        ("dpal", ["--epsilon", "0.05"], "DPAL needs a budget above epsilon 0.1"),
        ("dpal", ["--epsilon", "1", "--batch-size", "5"], "Got batches of 5: take at least 6."),
        ("adlm", ["--epsilon", "1", "--batch-size", "1"], "Got batches of 1: give more."),
        ("plain", ["--steps", "0"], "The 'steps' parameter of training must be an int from 1 to 10,000,000. Got 0."),
        ("plain", ["--steps", "9" * 30], "must be an int from 1 to 10,000,000."),
        ("plain", ["--batch-size", "-1"], "must be an int from 1 to 10,000,000. Got -1."),
        ("plain", ["--width", "1e300"], "must be a float in (0, 100)."),
        ("plain", ["--learning-rate", "1e300"], "must be a float in [1e-30, 1e+30]. Got 1e+300."),
        ("dp-sgd", ["--clip", "1e-40"], "must be a float in [1e-30, 1e+30]. Got 1e-40."),
        ("plain", ["--network", "resnet"], "'resnet' is not one of small, paper-mnist, paper-cifar10."),
        (
            "plain",
            ["--checkpoint-every", "0"],
            "Invalid value for '--checkpoint-every': it must be greater than or equal to 1. Got 0.",
        ),
        ("plain", ["--steps", "x"], "Invalid value for '--steps'"),
    ],
)
def test_options_that_cannot_be_used(train, refused, model, options, message):
    """An option of the wrong value, or for another system, is one line before anything is trained."""
    refused.given()
    assert message in refused(train(*options, model=model))


def test_the_nearest_epsilon(train, refused):
    """A budget that cannot be met is answered with the nearest that can, and asking for that succeeds."""
    refused.given()
    line = refused(train("--epsilon", "1e-6", "--delta", "1e-5", model="dp-sgd"))
    [nearest] = re.findall(r"The nearest that can is ([\d.]+): ask for that", line)
    assert train("--epsilon", nearest, "--delta", "1e-5", model="dp-sgd").code == 0


def test_a_delta_out_of_reach(train, refused):
    """A delta that no noise meets is refused with the fix."""
    refused.given()
    assert "take a larger delta" in refused(train("--epsilon", "1", "--delta", "1e-300", model="dp-sgd"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_train": None}, "it has no array 'y_train'"),
        ({"y_test": np.zeros(5, int)}, "x_test has 12 images but y_test has 5 labels"),
        ({"x_train": np.full((24, 16, 16), 2.0), "x_test": np.zeros((12, 16, 16))}, "x_train[0, 0, 0] is 2.0: pixels"),
        ({"x_train": np.zeros((24, 256), np.uint8)}, "x_train has the shape (24, 256), flat images"),
        ({"x_test": np.zeros((12, 16, 20), np.uint8)}, "make them of one size"),
        ({"y_train": np.zeros(24, int)}, "holds the one class 0"),
        ({"y_test": np.full(12, 10**18)}, "y_test holds the class 1000000000000000000"),
    ],
)
def test_data_that_cannot_be_used(train, place, refused, changes, message):
    """Arrays of wrong shapes, ranges or labels are named, and nothing is clamped."""
    images(place / "bad.npz", **changes)
    refused.given()
    line = refused(train(data="bad.npz"))
    assert line.startswith("'bad.npz': ")
    assert message in line


def test_a_declared_range_rules(train, call, place):
    """A pixel outside [0, 1] is refused by row, value and option; a declared range takes it, and the model keeps it."""
    with np.load(images(place / "images.npz")) as held:
        floats = {name: held[name] / 127.5 - 1 for name in ("x_train", "x_test")}
    images(place / "floats.npz", **floats)
    result = train(data="floats.npz")
    assert (result.code, result.out) == (2, b"")
    assert re.search(r"x_train\[0, .*\] is -0\.\d+: pixels must lie in \[0, 1\], .* --pixel-range=-1,1\.\n", result.err)
    for number, given in enumerate((["--pixel-range", "-1,1"], ["--pixel-range=-2,2"])):
        assert train(*given, "--test-seed", "1", data="floats.npz", output=f"{number}.pt").code == 0
    assert load_image_model(place / "0.pt").declaration.pixel_range == (-1.0, 1.0)
    assert not same(place / "0.pt", place / "1.pt")
    smoothed = ("--draws", "20", "--limit", "3", "--noise", "0.1")
    assert call("certify", "image", "0.pt", "floats.npz", *smoothed).code == 0
    images(place / "beyond.npz", x_train=floats["x_train"], x_test=2 * floats["x_test"])
    beyond = call("certify", "image", "0.pt", "beyond.npz", *smoothed)
    assert beyond.code == 2
    assert "pixels must lie in [-1, 1], as declared" in beyond.err


def test_declared_classes_rule(train, call, place):
    """With declared classes a model has an output for each, one without a record too, and the card says so."""
    assert train("--classes", "0,1,2,3", *BUDGET, model="dp-sgd").code == 0
    model, card = load_image_model(place / "m.pt"), strict(place / "m.pt.card.json")
    assert model.architecture.classes == 4
    assert (card["data"]["classes"], card["data"]["classes declared"]) == (["0", "1", "2", "3"], True)
    assert not [line for line in card["not protected"] if "classes" in line]
    assert call("certify", "image", "m.pt", "images.npz", "--draws", "20", "--limit", "3", "--noise", "0.1").code == 0
    assert train(*BUDGET, model="dp-sgd", output="n.pt").code == 0
    found = strict(place / "n.pt.card.json")
    assert "the classes, which were taken from the training images and not declared" in found["not protected"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--pixel-range", "0"], "--pixel-range must be two numbers with a comma between them, such as -1,1. Got '0'."),
        (["--pixel-range", "0,1,2"], "--pixel-range must be two numbers"),
        (["--pixel-range", "a,b"], "--pixel-range must be two numbers"),
        (["--pixel-range", "1,0"], "The range of pixels must be two finite numbers"),
        (["--pixel-range", "0,nan"], "The range of pixels must be two finite numbers"),
        (["--pixel-range", "0,100"], "x_train["),
        (["--classes", "0,1"], "y_train[2] is 2, which is none of the declared classes 0, 1: declare it too"),
        (["--classes", "0"], "What is declared holds the one class 0"),
        (["--classes", "0,1,2,0"], "--classes names '0' twice"),
    ],
)
def test_what_cannot_be_declared(train, refused, given, message):
    """A range or list of classes that is none, or that the data do not fit, is one line."""
    refused.given()
    assert message in refused(train(*given, width=None))


@pytest.mark.parametrize("shape", [(4, 4), (1, 1)])
def test_images_too_small_for_a_network(train, place, refused, shape):
    """Images that a network shrinks to nothing are refused with their size."""
    images(place / "small.npz", shape=shape)
    refused.given()
    assert f"Got {shape[0]} x {shape[1]} pixels: " in refused(train(data="small.npz"))


@pytest.mark.parametrize("network", ["small", "paper-mnist", "paper-cifar10"])
@pytest.mark.parametrize("shape", [(32, 32, 3), (20, 24)])
def test_images_of_other_sizes(train, place, network, shape):
    """Every network takes colour images and oblong ones."""
    images(place / "other.npz", count=6, test=3, shape=shape)
    assert train("--network", network, data="other.npz").code == 0


def test_one_image_a_class_and_a_larger_batch(train, place):
    """Three images are enough, whatever the size of the batch."""
    images(place / "few.npz", count=3, test=3)
    assert train("--batch-size", "10000000", data="few.npz").code == 0
    assert train(*BUDGET, "--batch-size", "1000", model="dp-sgd", data="few.npz", output="n.pt").code == 0
    assert strict(place / "n.pt.card.json")["accounting"]["sampling rate"] == 1.0


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("none/m.pt", "The folder of the output 'none/m.pt' does not exist"),
        (".", "The output '.' is a folder"),
        ("in.csv", "The output 'in.csv' exists"),
        ("-", "The output '-' must be a file"),
        ("m.pt.gz", "The output 'm.pt.gz' must be a file, not compressed"),
        ("/dev/null", "is no regular file"),
        ("m" * 300, "File name too long"),
    ],
)
def test_outputs_that_cannot_be_used(train, refused, output, message):
    """An output that cannot be written is refused before anything is trained."""
    refused.given()
    assert message in refused(train(output=output))


def test_a_card_that_exists(train, refused):
    """No file beside the model is overwritten without --force either."""
    refused.given(**{"m.pt__card__json": "mine"})
    assert "The output 'm.pt.card.json' exists" in refused(train())


def test_force(train, place, refused):
    """--force overwrites a model, but never the data."""
    assert train().code == 0
    before = (place / "m.pt.owner.json").read_bytes()
    assert train("--force").code == 0
    assert (place / "m.pt.owner.json").read_bytes() != before
    refused.given()
    assert "The output 'images.npz' is a file that is read" in refused(train("--force", output="images.npz"))


def test_what_is_for_the_owner_alone(train, place):
    """With --force too nobody else can open the owner's file; the model keeps the mode that it had."""
    for name, mode in (("m.pt", 0o640), ("m.pt.owner.json", 0o644)):
        (place / name).write_text("old")
        (place / name).chmod(mode)
    assert train("--force").code == 0
    assert (place / "m.pt").stat().st_mode & 0o777 == 0o640
    assert (place / "m.pt.owner.json").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_written(train, refused, monkeypatch):
    """A folder that is read-only is refused before anything is trained."""
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    refused.given()
    assert "The folder of the output 'm.pt' cannot be written" in refused(train())


@pytest.mark.parametrize("name", ["torch", "dp_accounting"])
def test_without_the_extra(train, refused, monkeypatch, name):
    """Where the extra is missing, one line says what to install."""
    found = model_runs.importlib.util.find_spec
    monkeypatch.setattr(model_runs.importlib.util, "find_spec", lambda given: None if given == name else found(given))
    refused.given()
    assert refused(train()) == f"Models need {name}, which is missing: install deniable[train]."


def test_memory(train, refused, monkeypatch):
    """Where torch finds no memory the message says so."""

    def fails(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr("deniable.models.images.training.fitting.fit_image_model", fails)
    refused.given()
    assert refused(train()).startswith("out of memory: nothing was written.")


def test_a_loss_that_is_no_number(train, place, monkeypatch):
    """A run whose loss is no number any more ends with one line, and keeps its last good checkpoint."""
    from deniable.learning.adam import AdamRun

    before = AdamRun.step
    monkeypatch.setattr(AdamRun, "step", lambda run, number: float("nan") if number == 3 else before(run, number))
    result = train("--checkpoint-every", "2", steps=6)
    assert (result.code, result.out) == (2, b"")
    assert result.err == (
        "deniable: The loss is nan at step 4 of 6: take a smaller learning rate. The last good checkpoint is kept.\n"
    )
    assert (place / "m.pt.checkpoint").exists()
    assert not (place / "m.pt").exists()


def stop(monkeypatch, at, error=KeyboardInterrupt):
    """Make the runs of DP-SGD stop before a step; return a function that lets them finish."""
    from deniable.learning.dp_sgd import DPSGDRun

    before = DPSGDRun.step

    def step(run, number):
        if number == at:
            raise error
        return before(run, number)

    monkeypatch.setattr(DPSGDRun, "step", step)
    return lambda: monkeypatch.setattr(DPSGDRun, "step", before)


@pytest.mark.parametrize("seed", [["--test-seed", "3"], []])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_an_interrupted_run_goes_on(train, place, monkeypatch, seed, force):
    """The same command goes on, with the key of before, and gives what a run without interruption gives."""
    options = [*BUDGET, *seed, *force, "--checkpoint-every", "2"]
    let_finish = stop(monkeypatch, 3)
    result = train(*options, model="dp-sgd", steps=5)
    assert (result.code, result.out) == (2, b"")
    assert result.err == "deniable: interrupted: run the same command again to resume from 'm.pt.checkpoint'.\n"
    assert stat.S_IMODE((place / "m.pt.checkpoint").stat().st_mode) == 0o600
    kept = (place / "m.pt.checkpoint").read_bytes()
    let_finish()
    assert train(*options, model="dp-sgd", steps=5).code == 0
    assert not (place / "m.pt.checkpoint").exists()
    (place / "n.pt.checkpoint").write_bytes(kept)
    assert train(*options, model="dp-sgd", steps=5, output="n.pt").code == 0
    assert same(place / "m.pt", place / "n.pt")
    if seed:
        assert train(*options, model="dp-sgd", steps=5, output="o.pt").code == 0
        assert same(place / "m.pt", place / "o.pt")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (["--learning-rate", "3"], "learning_rate"),
        (["--test-seed", "4"], "seed"),
        (["other.npz"], "other data:"),
    ],
)
def test_the_checkpoint_of_another_run(train, place, refused, monkeypatch, changed, what):
    """A checkpoint of other data or parameters is refused by name, and --force begins anew."""
    images(place / "other.npz", test=9)
    let_finish = stop(monkeypatch, 3)
    options = [*BUDGET, "--test-seed", "3", "--checkpoint-every", "2"]
    assert train(*options, model="dp-sgd", steps=5).code == 2
    let_finish()
    refused.given()
    data = {"data": changed.pop()} if changed == ["other.npz"] else {}
    line = refused(train(*options, *changed, model="dp-sgd", steps=5, **data))
    assert line.startswith(f"'m.pt.checkpoint' is the checkpoint of a run with {what} ")
    assert not re.search("[0-9a-f]{8}", line)  # a hash of private data would confirm a guess of them
    assert line.endswith("finish that run, or start over with --force.")
    assert train(*options, *changed, "--force", model="dp-sgd", steps=5, **data).code == 0


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04"])
def test_a_damaged_checkpoint(train, place, refused, content):
    """A checkpoint that cannot be read is refused, kept, and dropped with --force."""
    (place / "m.pt.checkpoint").write_bytes(content)
    refused.given()
    assert "'m.pt.checkpoint' is no checkpoint" in refused(train())
    assert train("--force").code == 0
    assert not (place / "m.pt.checkpoint").exists()


def test_a_full_disk_at_the_end(train, place, monkeypatch):
    """Where the model does not fit any more nothing of it is left, and the same command goes on."""
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        assert "No space left on device: nothing was written." in train().err
        assert [path.name for path in place.iterdir() if "m.pt" in path.name] == []
    assert train().code == 0


def test_a_limit_on_file_sizes(train, place):
    """A checkpoint that does not fit leaves the last good one, from which the run goes on."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
        result = train("--checkpoint-every", "2", steps=6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (result.code, result.out) == (2, b"")
    [line] = result.err.splitlines()
    assert line.startswith("deniable: The checkpoint 'm.pt.checkpoint' cannot be written: File too large.")
    assert [path.name for path in place.iterdir() if "m.pt" in path.name] == []


def test_a_killed_run_goes_on(call, place):
    """A process that is killed leaves a checkpoint, from which the run ends as if it had not been."""
    images(place / "images.npz")
    given = ["train", "image", "images.npz", "--kind", "plain", "--width", "0.1", "--test-seed", "1", "--steps", "200"]
    # Sums of float32 depend on the number of threads.
    threads = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    process = subprocess.Popen(
        [*PROGRAM, *given, "-o", "m.pt"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=threads,
    )
    deadline = time.monotonic() + 60
    while not (place / "m.pt.checkpoint").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == -signal.SIGKILL
    assert not (place / "m.pt").exists()
    result = call(*given, "-o", "m.pt")
    assert result.err.startswith("resuming from m.pt.checkpoint\n")
    assert call(*given, "-o", "n.pt").code == 0
    assert same(place / "m.pt", place / "n.pt")
