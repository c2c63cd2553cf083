"""``deniable audit zoo``: the table, JSON and exit codes."""

import json

from deniable.registry.zoo import TRAINER_ENTRIES, ZOO_ENTRIES


def test_the_zoo(call, monkeypatch):
    """The table has a row for each entry, and the exit code is 1 unless every verdict is as expected."""
    import dataclasses

    from deniable.published.adept import text_entries as texts
    from deniable.published.dpal import zoo as images
    from deniable.registry import zoo

    monkeypatch.setattr(images, "DPAL_ENTRIES", images.DPAL_ENTRIES[:1])
    monkeypatch.setattr(texts, "ADEPT_TEXT_ENTRIES", texts.ADEPT_TEXT_ENTRIES[:1])
    few = [entry for entry in ZOO_ENTRIES if entry.name in ("adept", "copy", "public-seed", "laplace")]
    monkeypatch.setattr(zoo, "ZOO_ENTRIES", tuple(few))
    result = call("audit", "zoo")
    assert (result.code, result.err) == (0, "")
    rows = result.text.splitlines()
    assert [row.split()[0] for row in rows[2:8]] == [*(entry.name for entry in few), "dpal-differences", "adept-texts"]
    assert rows[-1] == "every verdict is as expected"
    wrong = dataclasses.replace(few[0], exact_status="proved")
    monkeypatch.setattr(zoo, "ZOO_ENTRIES", (wrong,))
    monkeypatch.setattr(images, "DPAL_ENTRIES", ())
    monkeypatch.setattr(texts, "ADEPT_TEXT_ENTRIES", ())
    result = call("audit", "zoo", "--json")
    assert result.code == 1
    (read,) = json.loads(result.text)
    assert (read["mechanism"], read["expected"], read["exact"]["status"]) == ("adept", False, "refuted")


def test_the_zoo_without_torch(call, monkeypatch):
    """Without torch the other entries are audited, and one line says how many are left out and what they need."""
    import importlib.util

    from deniable.published.adept import text_entries as texts
    from deniable.published.dpal import zoo as images
    from deniable.registry import zoo

    torch_entries = (*images.DPAL_ENTRIES, *texts.ADEPT_TEXT_ENTRIES)
    assert tuple(entry.name for entry in torch_entries) == zoo.TORCH_ENTRY_NAMES
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "torch" else find(name, *more))
    monkeypatch.setattr(zoo, "ZOO_ENTRIES", tuple(entry for entry in ZOO_ENTRIES if entry.name == "adept"))
    result = call("audit", "zoo")
    assert result.code == 0
    assert result.err == "10 entries need torch, and were left out: install deniable[train].\n"
    assert "dpal" not in result.text


def test_the_zoo_of_trainers(call, monkeypatch):
    """The argument names the collection: a row for each trainer and twin, in the table and in JSON."""
    from deniable.registry import zoo

    few = tuple(entry for entry in TRAINER_ENTRIES if entry.name.startswith("private-vocabulary"))
    monkeypatch.setattr(zoo, "TRAINER_ENTRIES", few)
    result = call("audit", "zoo", "trainers")
    assert (result.code, result.err) == (0, "")
    rows = result.text.splitlines()
    assert rows[0].startswith("trainer ")
    assert [row.split()[0] for row in rows[2:4]] == ["private-vocabulary", "private-vocabulary-mended"]
    assert rows[-1] == "every verdict is as expected"
    first, second = json.loads(call("audit", "zoo", "trainers", "--json").text)
    assert (first["trainer"], first["sampled"]["status"]) == ("private-vocabulary", "refuted")
    assert (second["trainer"], second["sampled"]["status"]) == ("private-vocabulary-mended", "not refuted")


def test_the_zoo_of_trainers_without_an_accountant(call, monkeypatch):
    """Without dp-accounting one line says how many trainers are audited by samples alone."""
    import importlib.util

    from deniable.registry import zoo

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "dp_accounting" else find(name, *more)
    )
    few = tuple(entry for entry in TRAINER_ENTRIES if entry.name.startswith("private-vocabulary"))
    monkeypatch.setattr(zoo, "TRAINER_ENTRIES", few)
    result = call("audit", "zoo", "trainers")
    assert result.code == 0
    assert result.err == "Facts of 2 trainers need dp-accounting, and were left out: install deniable[train].\n"


def test_an_unknown_zoo(call):
    """A collection that does not exist is refused with the names of those that do."""
    result = call("audit", "zoo", "birds")
    assert result.code == 2
    assert "mechanisms" in result.err
    assert "trainers" in result.err
