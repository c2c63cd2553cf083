"""Documents changed in one place, and what a check says of that place."""

import copy

import deniable as dn


def list_leaves(value, steps=()):
    """Return the steps to every text, number, truth value, null and empty container of a JSON value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    leaves = [leaf for step, member in members for leaf in list_leaves(member, (*steps, step))]
    return leaves or [steps]


def change(value):
    """Return another value of the same type, where there is one."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value * 1.01 + 1e-3
    if isinstance(value, str):
        return value[:-1] + ("y" if value.endswith("x") else "x")
    return ["x"] if isinstance(value, list) else {"x": 1}


def mutate(document, steps, value):
    """Return a copy of a document with another value at one place."""
    changed = copy.deepcopy(document)
    parent = changed
    for step in steps[:-1]:
        parent = parent[step]
    parent[steps[-1]] = value
    return changed


def try_check(document, *arguments, **options):
    """Return the result of a check; None where nothing could be computed, which one short line says."""
    try:
        return dn.check_certificate(document, *arguments, **options)
    except dn.InputError as error:
        line = f"{error}"
    assert "\n" not in line
    assert len(line) < 600
    return None


def get_status(check, path):
    """Return the status of one field."""
    (field,) = [field for field in check.fields if field.path == path]
    return field.status


def list_wrong(check):
    """Return the paths of what is contradicted."""
    return [field.path for field in check.select("contradicted")]


def check_as_written(document, *arguments, **options):
    """Check that a document holds, and that each leaf has one status; return the check."""
    check = dn.check_certificate(document, *arguments, **options)
    assert (check.overall, check.select("contradicted")) == ("recomputed", [])
    assert len({field.path for field in check.fields}) == len(check.fields) == len(list_leaves(document))
    return check


def check_mutations(document, *arguments, **options):
    """Change every leaf of a document, one after the other; return the paths that nothing contradicts.

    A leaf that was changed must never count as recomputed.
    """
    unnoticed = set()
    fields = dn.check_certificate(document, *arguments, **options).fields
    for steps, written in zip(list_leaves(document), fields, strict=True):
        path, value = written.path, document
        for step in steps:
            value = value[step]
        check = try_check(mutate(document, steps, change(value)), *arguments, **options)
        if check is None:
            continue
        statuses = {field.status for field in check.fields if field.path.startswith(path)}
        same = {field.status for field in check.fields if field.path == path}
        assert "recomputed" not in (same or statuses), path
        if check.overall != "contradicted":
            unnoticed.add(path)
    return unnoticed
