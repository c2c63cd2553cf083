"""Writes what the HTTP service says of itself: ``python tools/openapi.py > docs/openapi.json``."""

import json

import deniable as dn
from deniable.serve.app import create_app


def describe_service() -> str:
    """Return the OpenAPI document, the same for every release; its version is that of the routes."""
    space = dn.Space(["a", "b"], [[0.0], [1.0]])
    document = create_app(dn.Release(dn.TEM(space, epsilon=1.0))).openapi()
    document["info"]["version"] = "1"
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(describe_service(), end="")
