"""The network: what it may look at, and that its two ways to decode agree."""

import pytest
import torch

from deniable.rewriting.autoencoder import Autoencoder, clip_to_l2_ball, drop_words

WORDS, LATENT = 20, 6
PAD, START, END, UNKNOWN = range(4)


def build():
    """Return a network with its first weights, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Autoencoder(WORDS, LATENT, 16, 8, 2.0).eval()


@pytest.fixture(scope="module")
def network():
    """Return a network whose vectors fill the ball."""
    made = build()
    with torch.no_grad():
        made.normalize_latents(made.encode(tokens(50, 5), torch.full((50,), 5)))
    return made


def coins(seed=0):
    return torch.Generator().manual_seed(seed)


def tokens(*shape, seed=0):
    return torch.randint(4, WORDS, shape, generator=coins(seed))


def vectors(count, seed=0):
    return torch.randn(count, LATENT, generator=coins(seed))


def test_the_clip_of_adept():
    """Longer vectors are brought to the radius, in their direction; shorter ones and 0 stay, with a finite gradient."""
    given = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [-6.0, 8.0]])
    expected = torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0], [-0.6, 0.8]])
    torch.testing.assert_close(clip_to_l2_ball(given, 1.0), expected)
    torch.testing.assert_close(clip_to_l2_ball(given, 2.0)[0], torch.tensor([1.2, 1.6]))
    given = torch.zeros(2, 3, requires_grad=True)
    clip_to_l2_ball(given, 1.0).sum().backward()
    assert given.grad.isfinite().all()


def test_vectors_fill_the_ball():
    """Their mean is 0 and three quarters of them lie in the ball, however often; a text of them stays the same."""
    made, given, lengths = build(), tokens(100, 5), torch.full((100,), 5)
    with torch.no_grad():
        before = made.compute_logits(made.encode(given, lengths), given)
        for _ in range(2):
            made.normalize_latents(made.encode(given, lengths))
            found = made.encode(given, lengths)
            torch.testing.assert_close(found.mean(dim=0), torch.zeros(LATENT), atol=1e-4, rtol=0)
            within = found.norm(dim=1) <= 2.0
            assert within.float().mean() == 0.75
            after = made.compute_logits(found, given)
            torch.testing.assert_close(after[within], before[within], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(after[~within], before[~within], atol=1e-4)


def test_texts_that_never_differ():
    """Vectors that differ by rounding at most stay where they are."""
    made, given, lengths = build(), tokens(1, 3).expand(4, 3), torch.full((4,), 3)
    with torch.no_grad():
        before = made.encode(given, lengths)
        made.normalize_latents(before)
        torch.testing.assert_close(made.encode(given, lengths), before, atol=0, rtol=0)


def test_what_is_behind_the_end(network):
    """A text has the same vector whatever stands behind its end, and beside it in a batch."""
    given, lengths = tokens(3, 5), torch.tensor([2, 0, 5])
    found = network.encode(given, lengths)
    assert found.shape == (3, LATENT)
    for row, length in enumerate(lengths.tolist()):
        alone = network.encode(given[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(alone[0], found[row])


def test_order(network):
    """The order of the tokens counts, and each of them does."""
    first, whole = tokens(1, 4), torch.tensor([4])
    found = network.encode(first, whole)
    assert not torch.allclose(found, network.encode(first.flip(1), whole), atol=1e-4)
    for place in range(4):
        other = first.clone()
        other[0, place] = 4 + (other[0, place] - 3) % (WORDS - 4)
        assert not torch.allclose(found, network.encode(other, whole), atol=1e-5)


def test_steps_are_teacher_forcing(network):
    """One token at a time has the logits that all tokens at once have, and states can be taken apart by rows."""
    given, held = tokens(3, 5), vectors(3)
    expected = network.compute_logits(held, given)
    assert expected.shape == (3, 6, WORDS)
    state, previous = network.make_initial_state(held), torch.ones(3, dtype=torch.int64)
    order = torch.tensor([2, 0])
    for place in range(6):
        apart, _ = network.step(previous[order], held[order], state[order])
        scores, state = network.step(previous, held, state)
        torch.testing.assert_close(scores, expected[:, place])
        torch.testing.assert_close(apart, scores[order])
        previous = given[:, min(place, 4)]


def test_the_future_is_not_seen(network):
    """The logits of a token depend on those before it alone."""
    given, held = tokens(2, 5), vectors(2)
    other = given.clone()
    other[:, 3] = UNKNOWN
    found, changed = network.compute_logits(held, given), network.compute_logits(held, other)
    torch.testing.assert_close(found[:, :4], changed[:, :4])
    assert not torch.allclose(found[:, 4], changed[:, 4], atol=1e-4)


def test_the_ball(network):
    """A vector outside of the ball is decoded as the one on its surface: no noise leads the decoder astray."""
    given, held = tokens(3, 5), vectors(3)
    held = held / held.norm(dim=1, keepdim=True)
    surface = network.compute_logits(2 * held, given)
    torch.testing.assert_close(network.compute_logits(1e6 * held, given), surface)
    assert not torch.allclose(network.compute_logits(held, given), surface, atol=1e-4)


def test_greedy(network):
    """The likeliest word or end follows, nothing else, up to the first end and no further."""
    held = 2 * vectors(40)
    found = network.decode_greedily(held, 7)
    assert found.shape == (40, 7)
    scores = network.compute_logits(held, found)[:, :-1]
    scores[:, :, [PAD, START, UNKNOWN]] = -torch.inf
    ended = (found == END).cumsum(1) - (found == END).long() > 0
    assert torch.equal(found[~ended], scores.argmax(dim=2)[~ended])
    assert (found[ended] == PAD).all()
    assert not torch.isin(found[~ended], torch.tensor([PAD, START, UNKNOWN])).any()
    assert network.decode_greedily(held, 0).shape == (40, 0)
    made = build()
    with torch.no_grad():
        made.bias[END] = 100.0
    assert made.decode_greedily(vectors(2), 3).tolist() == [[END, PAD, PAD]] * 2


def test_dropped():
    """The share of the tokens asked for is unknown, the others stay, and the coins decide which."""
    given = tokens(200, 200)
    found = drop_words(given, 0.3, coins(1))
    lost = found == UNKNOWN
    assert abs(float(lost.double().mean()) - 0.3) < 5 * (0.3 * 0.7 / 40_000) ** 0.5
    assert torch.equal(found[~lost], given[~lost])
    assert torch.equal(found, drop_words(given, 0.3, coins(1)))
    assert not torch.equal(found, drop_words(given, 0.3, coins(2)))
    assert torch.equal(given, drop_words(given, 0.0, coins(1)))
