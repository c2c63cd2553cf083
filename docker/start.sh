#!/bin/sh
# Start the service. Proofs, tables of laws and compiled code are kept in $DENIABLE_STATE, the only folder written to.
#   docker/start.sh [OPTIONS OF deniable serve]
set -eu
# The folder may be a fresh volume or one that an administrator made: without a mode of its own a cache is refused.
mkdir -p -m 0700 "$DENIABLE_STATE/cache" "$DENIABLE_STATE/compiled"
export DENIABLE_CACHE="$DENIABLE_STATE/cache" NUMBA_CACHE_DIR="$DENIABLE_STATE/compiled"
exec deniable serve --host "${DENIABLE_HOST:-0.0.0.0}" --port "${DENIABLE_PORT:-8000}" \
  --token-file "${DENIABLE_TOKEN_FILE:-/run/secrets/deniable_token}" "$@"
