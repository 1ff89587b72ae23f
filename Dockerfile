# orbweb in a container, as a user without rights.
#
#   docker build -t orbweb .                              without a browser
#   docker build -t orbweb:browser --target browser .     with Debian's headless Chromium
#   docker run --rm -v orbweb:/data orbweb crawl https://example.com/
#
# The workspace is the volume /data. Versions are those of locks/, by hash.

ARG PYTHON=3.13
ARG DEBIAN=trixie

FROM python:${PYTHON}-slim-${DEBIAN} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY locks/run.txt locks/dev.txt locks/tools.txt locks/
RUN python -m venv /opt/orbweb \
    && /opt/orbweb/bin/pip install --no-cache-dir --require-hashes --requirement locks/run.txt \
    && python -m venv tools \
    && tools/bin/pip install --no-cache-dir --require-hashes --requirement locks/tools.txt
COPY pyproject.toml hatch_build.py README.md LICENSE CHANGELOG.md ./
COPY src src
RUN tools/bin/uv build --wheel --require-hashes --build-constraints locks/dev.txt --out-dir wheels \
    && /opt/orbweb/bin/pip install --no-cache-dir --no-deps wheels/*.whl

FROM python:${PYTHON}-slim-${DEBIAN} AS base
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin orbweb \
    && install --directory --owner orbweb --group orbweb --mode 0700 /data
COPY --from=build /opt/orbweb /opt/orbweb
ENV PATH=/opt/orbweb/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ORBWEB_WORKSPACE=/data
WORKDIR /data
VOLUME /data
ENTRYPOINT ["orbweb"]
CMD ["--help"]

FROM base AS browser
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium-headless-shell fonts-liberation \
    && rm -rf /var/lib/apt/lists/*
ENV ORBWEB_BROWSER=/usr/bin/chromium-headless-shell
USER orbweb

FROM base AS plain
USER orbweb
