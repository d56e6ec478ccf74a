# syntax=docker/dockerfile:1
# Two stages: one builds the wheel and a virtual environment, the other holds that environment and nothing to build with.
FROM python:3.12-slim AS build
WORKDIR /build
RUN python -m venv /opt/fleet-memory
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/fleet-memory/bin/pip install --no-cache-dir ".[firestore,http]" \
    && /opt/fleet-memory/bin/pip uninstall --yes pip

FROM python:3.12-slim
ARG VERSION=unreleased
LABEL org.opencontainers.image.title="fleet-memory" \
      org.opencontainers.image.description="Shared memory for fleets of AI agents: it lasts, fades and adds up" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.licenses="MIT AND Apache-2.0 AND 0BSD" \
      org.opencontainers.image.source="https://github.com/fleet-memory/fleet-memory" \
      io.modelcontextprotocol.server.name="io.github.fleet-memory/fleet-memory"
RUN useradd --create-home --uid 10001 fleet
COPY --from=build /opt/fleet-memory /opt/fleet-memory
ENV PATH="/opt/fleet-memory/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    ORT_DISABLE_TELEMETRY=1 \
    FLEET_MEMORY_STORE=/data/memory.db \
    FLEET_MEMORY_TOOLSETS=core,session
RUN mkdir /data && chown fleet:fleet /data
USER 10001
VOLUME /data
EXPOSE 8080 9464
# The process answers; whether its store does is /readyz. Switch it off for stdio: `--no-healthcheck`.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
# HTTP for a fleet (docs/deploy.md), which needs a token before its first start:
# `docker run --rm --volume fleet-memory:/data fleet-memory token create --program basher`.
# MCP over stdio: `docker run --interactive --rm --no-healthcheck --volume fleet-memory:/data fleet-memory serve`.
# "exec" form, so that SIGTERM reaches the server, which ends the calls under way.
ENTRYPOINT ["fleet-memory"]
CMD ["serve", "--http", "0.0.0.0:8080", "--metrics", "0.0.0.0:9464"]
