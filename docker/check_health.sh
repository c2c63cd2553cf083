#!/bin/sh
# Exit with 0 where the service is ready.
exec python -c "
import os, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
opener.open(f'http://127.0.0.1:{os.environ.get(\"DENIABLE_PORT\", \"8000\")}/v1/health', timeout=4)
"
