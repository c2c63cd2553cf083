"""spaCy: a pipeline component that adds to each document its private text.

The component is called ``deniable``. ``doc._.private_text`` is what may leave; the document itself still holds the
private text, with everything that other components find in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.core.errors import InputError

try:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.util import minibatch
except ImportError:
    raise InputError("deniable.engines.spacy needs spacy, which is missing: install spacy.") from None

# spaCy imports this module whenever it starts, used or not: what is heavy is imported when a component is.
if TYPE_CHECKING:
    from deniable.text.batches import Tally
    from deniable.text.release import Release

COMPONENT_NAME = "deniable"
_RECORD_ID = "record_id"
_COUNTS = "deniable_counts"
"""Where a document keeps the counts of its text, in a form that can go to other processes and to disk."""


class DocPrivatizer:
    """Sets ``doc._.private_text``, under the noise that ``doc._.record_id`` names.

    Args:
        release: how texts are released.
    """

    def __init__(self, release: "Release") -> None:
        self.release = release

    def __call__(self, doc: Doc) -> Doc:
        """Return a document with its private text.

        Raises:
            InputError: the document has no record id, which a key needs, or the key cannot be read.
        """
        self._privatize([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], batch_size: int = 1000) -> Iterator[Doc]:
        """Yield documents with their private texts.

        Raises:
            InputError: see `__call__`, or two documents of the stream have one record id. Where spaCy runs several
                processes, a stream is one batch of one process: `make_docs` looks at all ids.
        """
        from deniable.text.row_release import SeenIds

        seen_ids = SeenIds()
        for docs in minibatch(stream, size=batch_size):
            repeat = None if self.release.key is None else seen_ids.add([self._get_record_id(doc) for doc in docs])
            if repeat is not None:
                raise InputError(
                    f"The documents {repeat[0] + 1} and {repeat[1] + 1} of the stream have one record id: ids must be "
                    "unique, since equal ids share their noise."
                )
            self._privatize(docs)
            yield from docs

    def _privatize(self, docs: Sequence[Doc]) -> None:
        """Set the private texts of documents."""
        from deniable.engines.tallies import encode_tally

        for doc in docs:
            ids = None if self.release.key is None else [self._get_record_id(doc)]
            released = self.release.batch([doc.text], ids)
            doc._.private_text = released.texts[0]
            doc.user_data[_COUNTS] = encode_tally(released.tally)

    def _get_record_id(self, doc: Doc) -> str:
        """Return the id that a document names, or what came with its text to ``nlp.pipe(..., as_tuples=True)``."""
        from deniable.text.batches import check_record_ids

        record_id = doc._.record_id
        if record_id is None:
            context = getattr(doc, "_context", None)
            record_id = context.get(_RECORD_ID) if isinstance(context, Mapping) else context
        if record_id is None:
            raise InputError(
                "Under a key every document needs a record id: give nlp.pipe what make_docs(nlp, texts, ids) returns, "
                "or set doc._.record_id."
            )
        return check_record_ids([record_id], 1)[0]


def _read_tally(doc: Doc) -> "Tally":
    """Return the counts of a document: one record, or none where no component has privatized it."""
    from deniable.engines.tallies import decode_tally
    from deniable.text.batches import Tally

    counts = doc.user_data.get(_COUNTS)
    return Tally() if counts is None else decode_tally(counts)


def create_privatizer(
    nlp: Language,  # noqa: ARG001 - spaCy gives it to every factory
    name: str,  # noqa: ARG001 - the same
    epsilon: float,
    mechanism: str = "auto",
    space: str = "glove",
    metric: str = "steps",
    hide: Sequence[str] = ("names", "numbers", "places"),
    unknown: str = "draw",
    case: str = "lower",
    keep: Sequence[str] = (),
    unescape: str | None = None,
    key: Any = None,  # noqa: ANN401 - what spaCy finds to be of another type it prints, and it may be a key
    fresh: bool = False,  # noqa: FBT001, FBT002 - spaCy passes every setting by name
) -> DocPrivatizer:
    """Return the component that a configuration describes; what it says can be stored, and holds no key.

    Args:
        nlp: the pipeline.
        name: of the component in it.
        epsilon: privacy parameter per unit of distance, > 0.
        mechanism: name of a word mechanism, or ``auto``.
        space: ``glove``, or the path of a file of words with vectors.
        metric: name of the metric.
        hide: classes of words that are hidden.
        unknown: see `Release`.
        case: see `Release`.
        keep: see `Release`.
        unescape: see `Release`.
        key: where the key is kept, ``env:NAME`` or ``file:PATH``.
        fresh: True for a component without a key, which draws new noise whenever a document passes through.

    Raises:
        InputError: a setting outside its domain.
    """
    from deniable.engines.tasks import check_repeatable
    from deniable.registry import mechanism as get_mechanism
    from deniable.space import Space
    from deniable.text.release import Release

    if not isinstance(key, str | None):
        raise InputError(f"The 'key' setting must be 'env:NAME' or 'file:PATH', or None. Got {type(key).__name__}.")
    words = Space.glove(metric=metric, hide=hide) if space == "glove" else Space.load(space, metric=metric, hide=hide)
    release = Release(
        get_mechanism(mechanism, words, epsilon=epsilon),
        unknown=unknown,  # type: ignore[arg-type] # Release checks the values of these three
        case=case,  # type: ignore[arg-type]
        keep=keep,
        unescape=unescape,  # type: ignore[arg-type]
        key=key,
    )
    # A document whose record id is missing is refused when it comes.
    check_repeatable("spaCy", release, has_ids=True, fresh=fresh)
    return DocPrivatizer(release)


def make_docs(nlp: Language, texts: Sequence[str], ids: Sequence[str]) -> Iterator[Doc]:
    """Yield documents with their record ids, for ``nlp.pipe``; all ids are checked before the first one.

    Args:
        nlp: the pipeline, which splits the texts into tokens.
        texts: one for each record.
        ids: one public id for each record, unique in the data set.

    Raises:
        InputError: a text is missing, or ids are missing, repeated or of another number.
    """
    from deniable.text.batches import check_record_ids, read_batch_texts

    records = [text for text in read_batch_texts(texts) if text is not None]
    if len(records) < len(texts):
        raise InputError(f"Each document needs a text. Got {len(texts) - len(records)} without: leave them out.")
    return _make_docs(nlp, records, check_record_ids(ids, len(records)))


def _make_docs(nlp: Language, texts: Sequence[str], record_ids: Sequence[str]) -> Iterator[Doc]:
    for text, record_id in zip(texts, record_ids, strict=True):
        doc = nlp.make_doc(text)
        doc._.record_id = record_id
        yield doc


# A program may name its records already: then its ids are read.
if not Doc.has_extension(_RECORD_ID):
    Doc.set_extension(_RECORD_ID, default=None)
Doc.set_extension("private_text", default=None, force=True)
Doc.set_extension("private_tally", getter=_read_tally, force=True)
Language.factory(
    COMPONENT_NAME,
    assigns=["doc._.private_text", "doc._.private_tally"],
    func=create_privatizer,
)
