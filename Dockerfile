# The service of deniable: `docker build -t deniable .`, or compose.yaml. tests/test_container.py runs these very lines without
# a container, in folders of its own.
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python3 -m venv /opt/deniable && /opt/deniable/bin/pip install --no-cache-dir ".[serve]"

FROM python:3.13-slim-bookworm
COPY --from=build /opt/deniable /opt/deniable
# The user has a number and no name, and owns this folder alone.
RUN install -d -m 0700 -o 10001 -g 10001 /var/lib/deniable
USER 10001:10001
# The first start proves the guarantee and compiles loops, up to minutes on a busy machine; later ones find both in the volume.
ENV PATH=/opt/deniable/bin:$PATH DENIABLE_CACHE=/var/lib/deniable/cache NUMBA_CACHE_DIR=/var/lib/deniable/compiled
VOLUME ["/var/lib/deniable"]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=300s --retries=3 \
    CMD ["python3", "-c", "import http.client; c = http.client.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/v1/health'); exit(c.getresponse().status != 200)"]
ENTRYPOINT ["deniable", "serve", "--host", "0.0.0.0", "--port", "8000", "--token-file", "/run/secrets/deniable_token"]
CMD ["--epsilon", "2.8"]
