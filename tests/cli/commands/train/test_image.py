"""``deniable train image``: models with true cards, runs that go on, and one line where something is wrong."""

import errno
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import deniable as dn
from tests.cli.commands.train.helpers import WRITTEN, are_same, fails, interrupted, read_card, succeeds
from tests.cli.image_models import BUDGET, images

PROGRAM = [sys.executable, "-m", "deniable"]
SMOOTHED = ("--draws", "20", "--limit", "3", "--noise", "0.1")
IDEAL = "proved for ideal arithmetic"
deep = pytest.mark.deep


@pytest.fixture
def train(call, place):
    """Return a function that trains a small model of images.npz to m.pt, unless told otherwise."""
    images(place / "images.npz")

    def training(*options, model="plain", data="images.npz", output="m.pt", steps=2, width="0.1"):
        given = [data, "--kind", model, "--steps", steps, "-o", output, "--width", width]
        return call("train", "image", *given, *options)

    return training


FEW = [
    pytest.param(name, marks=() if name in {"dpal", "dp-ibp", "plain"} else deep) for name in dn.images.IMAGE_TRAINERS
]


@pytest.mark.parametrize("name", FEW)
def test_every_system(train, call, place, name):
    """Every system trains and can be certified, with the accuracy alone on stdout and no checkpoint left."""
    uses = dn.images.IMAGE_TRAINERS[name].option_names
    budget = [*(BUDGET[:2] if "epsilon" in uses else ()), *(BUDGET[2:] if "delta" in uses else ())]
    result = succeeds(train(*budget, model=name))
    assert re.fullmatch(r"clean accuracy [01]\.\d{3}\n", result.text)
    assert sorted(path.name for path in place.iterdir() if path.name.startswith("m.pt")) == WRITTEN
    card = read_card(place)[0]
    assert f"{card['clean accuracy']['value']:.3f}" in result.text
    if name in {"plain", "adlm", "dpal"}:
        assert not card["training records"]["status"].startswith("proved")
        assert card["not protected"][0] == "the training images: no guarantee about them holds by proof"
    deterministic = {"dp-sgd", "dp-adversarial", "dp-sgd-batch-clipped", "adversarial", "plain"}
    certified = call("certify", "image", "m.pt", "images.npz", *SMOOTHED[: None if name in deterministic else 4])
    if name == "adlm":
        fails(certified)
    else:
        assert certified.code == 0
        assert "radius above 0: certified accuracy" in certified.text


def test_a_private_card(train, place):
    """The card of a private model holds its guarantee, both adjacencies, and a commitment that its owner can open."""
    assert train(*BUDGET, model="dp-cert").code == 0
    (card, owner), text = read_card(place), (place / "m.pt.card.txt").read_text()
    held, accounting = card["training records"], card["accounting"]
    assert held["status"] == held["verdict"]["status"] == card["certificate"]["status"] == IDEAL
    assert held["adjacency"] == "one record made empty: the number of records and the sampling rate are public"
    spent = accounting["epsilon, one record made empty"]
    assert 1.9 < spent <= 2
    assert spent < accounting["epsilon, replace one record"]
    shown = float(re.fullmatch(r"\(([\d.]+), 0\.01\)-DP", held["guarantee"])[1])
    assert spent <= shown <= spent * 1.00001
    assert f"\n  guarantee  {held['guarantee']}\n" in text
    assert f"\n  status     {IDEAL}\n" in text
    assert not any("training images:" in line for line in card["not protected"])
    assert "the classes, which were taken from the training images and not declared" in card["not protected"]
    assert owner["fingerprint"] == dn.images.read_images(place / "images.npz").fingerprint
    shares = [point["value"] for point in card["certificate"]["certified accuracy"]]
    assert shares == sorted(shares, reverse=True)


def test_the_owners_file_is_never_open_to_others(train, place, monkeypatch):
    """The owner's file is for its owner alone before anything is in it, with --force too; the model keeps its mode."""
    for name, mode in (("m.pt", 0o640), ("m.pt.owner.json", 0o644)):
        (place / name).write_text("old")
        (place / name).chmod(mode)
    created, before = {}, os.open

    def noted(path, flags, mode=0o777, **options):
        descriptor = before(path, flags, mode, **options)
        if ".owner.json." in str(path):
            created[Path(path).suffix] = os.fstat(descriptor).st_mode & 0o777, os.fstat(descriptor).st_size
        return descriptor

    monkeypatch.setattr("os.open", noted)
    assert train("--force").code == 0
    assert created == {".part": (0o600, 0)}
    assert [(place / name).stat().st_mode & 0o777 for name in ("m.pt", "m.pt.owner.json")] == [0o640, 0o600]


def test_a_public_seed_is_not_private(train, place):
    """With a public seed two runs are equal, and the card says that nothing is protected."""
    options = (*BUDGET, "--noise-multiplier", "20")
    for output, seed in (("o.pt", ()), ("n.pt", ("--test-seed", "7")), ("m.pt", ("--test-seed", "7"))):
        assert train(*options, *seed, model="dp-sgd", output=output).code == 0
    assert are_same(place / "m.pt", place / "n.pt")
    assert not are_same(place / "m.pt", place / "o.pt")
    said = "not private: the seed of the noise is public"
    assert read_card(place)[0]["training records"] == {"guarantee": "none", "status": said}
    assert said in (place / "m.pt.card.txt").read_text()


def test_the_nearest_epsilon(train):
    """A budget that cannot be met is answered with the nearest that can, and asking for that succeeds."""
    result = train("--epsilon", "1e-6", "--delta", "1e-5", model="dp-sgd")
    fails(result, "epsilon")
    nearest = re.search(r"The nearest that can is ([\d.]+): ask for that", result.err)[1]
    assert train("--epsilon", nearest, "--delta", "1e-5", model="dp-sgd").code == 0


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"y_train": None}, "'y_train'"),
        ({"y_test": np.zeros(5, int)}, "5 labels"),
        ({"x_train": np.full((24, 16, 16), 2.0), "x_test": np.zeros((12, 16, 16))}, "x_train[0, 0, 0] is 2.0"),
        ({"x_train": np.zeros((24, 256), np.uint8)}, "(24, 256)"),
        ({"x_test": np.zeros((12, 16, 20), np.uint8)}, "the same size"),
        ({"y_train": np.zeros(24, int)}, "class 0"),
        ({"shape": (4, 4)}, "4 x 4"),
    ],
)
def test_data_that_cannot_be_used(train, place, changes, value):
    """Arrays of wrong shapes, ranges or labels are named, and nothing is clamped."""
    images(place / "bad.npz", **changes)
    fails(train(data="bad.npz"), value)
    assert not (place / "m.pt").exists()


def test_a_declared_range_rules(train, call, place):
    """A pixel outside [0, 1] is refused by row, value and option; a declared range takes it, and the model keeps it."""
    with np.load(images(place / "images.npz")) as held:
        floats = {name: held[name] / 127.5 - 1 for name in ("x_train", "x_test")}
    images(place / "floats.npz", **floats)
    fails(train(data="floats.npz"), "--pixel-range=-1,1")
    for number, given in enumerate((["--pixel-range", "-1,1"], ["--pixel-range=-2,2"])):
        assert train(*given, "--test-seed", "1", data="floats.npz", output=f"{number}.pt").code == 0
    assert dn.images.load_image_model(place / "0.pt").declaration.pixel_range == (-1.0, 1.0)
    assert not are_same(place / "0.pt", place / "1.pt")
    assert call("certify", "image", "0.pt", "floats.npz", *SMOOTHED).code == 0
    images(place / "beyond.npz", x_train=floats["x_train"], x_test=2 * floats["x_test"])
    fails(call("certify", "image", "0.pt", "beyond.npz", *SMOOTHED), "[-1, 1]")


def test_declared_classes_rule(train, call, place):
    """With declared classes a model has an output for each, one without a record too, and the card says so."""
    assert train("--classes", '0,1,2,"3"', *BUDGET, "--noise-multiplier", "20", model="dp-sgd").code == 0
    model, card = dn.images.load_image_model(place / "m.pt"), read_card(place)[0]
    assert model.architecture.classes == 4
    assert (card["data"]["classes"], card["data"]["classes declared"]) == (["0", "1", "2", "3"], True)
    assert not [line for line in card["not protected"] if "classes" in line]
    assert call("certify", "image", "m.pt", "images.npz", *SMOOTHED).code == 0


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (["--epsilon", "1"], "--epsilon"),
        (["--pixel-range", "a,b"], "'a,b'"),
        (["--pixel-range", "1,0"], "two finite numbers"),
        (["--pixel-range", "0,100"], "x_train["),
        (["--classes", "0,1"], "y_train[2] is 2"),
        (["--classes", "0"], "class 0"),
        (["--classes", "0,1,2,0"], "'0' twice"),
        (["--classes", "0,1,"], "--classes"),
    ],
)
def test_what_cannot_be_declared(train, given, value):
    """A range or list of classes that is none, or that the data do not fit, is one line."""
    fails(train(*given), value)


@deep
@pytest.mark.parametrize("network", ["small", "paper-mnist", "paper-cifar10"])
@pytest.mark.parametrize("shape", [(32, 32, 3), (20, 24)])
def test_images_of_other_sizes(train, place, network, shape):
    """Every network takes colour images and oblong ones."""
    images(place / "other.npz", count=6, test=3, shape=shape)
    assert train("--network", network, data="other.npz").code == 0


def test_one_image_a_class_and_a_larger_batch(train, place):
    """Three images are enough, whatever the size of the batch; files may have names in any script, with line ends."""
    images(place / "d ä 漢.npz", count=3, test=3)
    assert train("--batch-size", "10000000", data="d ä 漢.npz", output="m ß\n漢.pt").code == 0
    assert (place / "m ß\n漢.pt.card.txt").exists()
    private = (*BUDGET, "--noise-multiplier", "20", "--batch-size", "1000")
    assert train(*private, model="dp-sgd", data="d ä 漢.npz").code == 0
    assert read_card(place)[0]["accounting"]["sampling rate"] == 1.0


def test_outputs(train, place, monkeypatch):
    """What exists is overwritten with --force alone, what is read never; a folder must be writable before the run."""
    (place / "m.pt.card.json").write_text("mine")
    fails(train(), "'m.pt.card.json'")
    assert train("--force").code == 0
    fails(train("--force", output="images.npz"), "'images.npz'")
    for output in (".", "-", "m.pt.gz", "/dev/null", "m" * 300):
        fails(train(output=output))
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    fails(train(output="n.pt"), "'n.pt'")


PRIVATE = (*BUDGET, "--noise-multiplier", "20", "--checkpoint-every", "2")


@pytest.mark.parametrize("options", [(), pytest.param(("--force", "--test-seed", "3"), marks=deep)])
def test_an_interrupted_run_goes_on(train, place, options):
    """The same command goes on, with the key of before, and gives what a run without interruption gives."""
    with interrupted():
        fails(train(*PRIVATE, *options, model="dp-sgd", steps=5), "'m.pt.checkpoint'")
    assert (place / "m.pt.checkpoint").stat().st_mode & 0o777 == 0o600
    kept = (place / "m.pt.checkpoint").read_bytes()
    assert train(*PRIVATE, *options, model="dp-sgd", steps=5).code == 0
    assert not (place / "m.pt.checkpoint").exists()
    (place / "n.pt.checkpoint").write_bytes(kept)
    assert train(*PRIVATE, *options, model="dp-sgd", steps=5, output="n.pt").code == 0
    assert are_same(place / "m.pt", place / "n.pt")
    assert train(*PRIVATE, *options, model="dp-sgd", steps=5, output="o.pt").code == 0
    assert are_same(place / "m.pt", place / "o.pt") == bool(options)


def test_the_checkpoint_of_another_run(train, place):
    """A checkpoint of other data or parameters, or a damaged one, is refused by name, and --force begins anew."""
    images(place / "other.npz", test=9)
    with interrupted():
        assert train("--checkpoint-every", "2", "--test-seed", "3", steps=5).code == 2
    kept = (place / "m.pt.checkpoint").read_bytes()
    for changed, data, what in (
        ("--learning-rate 3", "images.npz", "learning_rate"),
        ("--test-seed 4", "images.npz", "seed"),
        ("", "other.npz", "other data:"),
    ):
        options = ["--checkpoint-every", "2", "--test-seed", "3", *changed.split()]
        result = train(*options, steps=5, data=data)
        fails(result, what)
        assert not re.search("[0-9a-f]{8}", str(result))  # a hash of private data would confirm a guess of them
        assert (place / "m.pt.checkpoint").read_bytes() == kept
    assert train(*options, "--force", steps=5, data=data).code == 0
    for content in (b"", b"no zip", b"PK\x03\x04"):
        (place / "n.pt.checkpoint").write_bytes(content)
        fails(train(output="n.pt"), "'n.pt.checkpoint'")
    assert train("--force", output="n.pt").code == 0
    assert not (place / "n.pt.checkpoint").exists()


def test_a_full_disk_at_the_end(train, place, monkeypatch):
    """Where the model does not fit any more nothing of it is left, and the same command goes on."""
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        fails(train(), "No space left on device")
        assert [path.name for path in place.iterdir() if "m.pt" in path.name] == []
    assert train().code == 0


def test_a_limit_on_file_sizes(train, place):
    """A checkpoint that does not fit is one line, and nothing of it is left."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
        result = train("--checkpoint-every", "2", steps=6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    fails(result, "'m.pt.checkpoint'")
    assert [path.name for path in place.iterdir() if "m.pt" in path.name] == []


@deep
def test_a_killed_run_goes_on(call, place):
    """A process that is killed leaves a checkpoint, from which the run ends as if it had not been."""
    images(place / "images.npz")
    given = ["train", "image", "images.npz", "--kind", "plain", "--width", "0.1", "--test-seed", "1", "--steps", "200"]
    # Sums of float32 depend on the number of threads.
    threads = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    with subprocess.Popen([*PROGRAM, *given, "-o", "m.pt"], stderr=subprocess.DEVNULL, env=threads) as process:
        while not (place / "m.pt.checkpoint").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert not (place / "m.pt").exists()
    assert call(*given, "-o", "m.pt").code == 0
    assert call(*given, "-o", "n.pt").code == 0
    assert are_same(place / "m.pt", place / "n.pt")
