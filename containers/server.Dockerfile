# The server and its workers.
#
#     docker build -f containers/server.Dockerfile -t sphynx-server .
ARG BASE=debian:trixie-slim
FROM ${BASE} AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml README.md LICENSE CHANGELOG.md /src/
COPY src /src/src
RUN python3 -m venv /opt/sphynx && /opt/sphynx/bin/pip install --no-cache-dir "/src[server,docker]"

FROM ${BASE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git python3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --create-home --home-dir /var/lib/sphynx --shell /usr/sbin/nologin sphynx \
 && chmod 700 /var/lib/sphynx
COPY --from=build /opt/sphynx /opt/sphynx
ENV PATH=/opt/sphynx/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1
USER sphynx
WORKDIR /var/lib/sphynx
VOLUME /var/lib/sphynx
EXPOSE 3003
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:3003/healthz', timeout=4)"]
ENTRYPOINT ["sphynx"]
CMD ["serve", "--host", "0.0.0.0", "--data", "/var/lib/sphynx"]
