# The service of deniable: `docker build -t deniable .`, or compose.yaml. The steps are those of docker/install.sh and
# docker/start.sh, which the tests run too.
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY docker ./docker
RUN PIP_NO_CACHE_DIR=1 sh docker/install.sh /opt/deniable

FROM python:3.13-slim-bookworm
COPY --from=build /opt/deniable /opt/deniable
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin deniable \
    && install -d -m 0700 -o deniable -g deniable /var/lib/deniable
ENV PATH=/opt/deniable/bin:$PATH DENIABLE_STATE=/var/lib/deniable PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
VOLUME ["/var/lib/deniable"]
EXPOSE 8000
STOPSIGNAL SIGTERM
# The first start computes the proof of the default space: seconds to a minute; then it lies in the volume.
HEALTHCHECK --interval=10s --timeout=5s --start-period=180s --retries=3 CMD ["sh", "/opt/deniable/docker/check_health.sh"]
ENTRYPOINT ["sh", "/opt/deniable/docker/start.sh"]
CMD ["--epsilon", "2.3"]
