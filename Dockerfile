# Two images from one file, for Docker and for buildah (1.28: no heredocs, no mounts). Run `make wheels` first.
#   docker build --target operator .    the operator, without Spark and Java
#   docker build --target app .         driver and executor: Spark, Java, a class-data-sharing archive of the driver's classes
# Layers that seldom change come first: after a change of Mainstem's code a node pulls only the small layer of its wheel, and
# the archive where a build has written it anew.
ARG BASE=debian:bookworm-slim

# ---- the base of both images ----
FROM ${BASE} AS python
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3 tini >/dev/null \
    && groupadd --gid 10001 mainstem \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin mainstem \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/* /tmp/* /usr/share/doc/* /usr/share/man/*
# PYTHONSAFEPATH: Python imports no module from the working directory. The packages have bytecode; their folder is read-only.
ENV PATH=/opt/mainstem/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/tmp LANG=C.UTF-8 PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1

# ---- the stage that builds; no part of the images ----
FROM python AS build
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3-venv zip >/dev/null \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /build && python3 -m venv --without-pip /opt/mainstem
ENV PIP="/build/bin/pip --python /opt/mainstem/bin/python install --quiet --no-cache-dir --no-deps --disable-pip-version-check --root-user-action=ignore" \
    PYTHONDONTWRITEBYTECODE=

# ---- operator ----
FROM build AS operator-packages
COPY requirements-operator.lock /build/
RUN $PIP --require-hashes --requirement /build/requirements-operator.lock
# The Kubernetes client as bytecode without docstrings: 39 MB instead of 126 MB. A container needs no activation scripts.
RUN cd /opt/mainstem && rm -f bin/activate* bin/Activate* \
    && cd lib/python3.11/site-packages \
    && find kubernetes -name __pycache__ -prune -exec rm -r {} + \
    && python3 -m compileall -q -b -o 2 kubernetes && find kubernetes -name '*.py' -delete

FROM build AS operator-wheels
COPY dist/mainstem-*.whl dist/mainstem_operator-*.whl /build/wheels/
RUN $PIP --no-index --prefix /wheels/opt/mainstem /build/wheels/*.whl

FROM python AS operator
LABEL org.opencontainers.image.title="mainstem-operator" \
      org.opencontainers.image.description="Streaming pipelines on Kubernetes: the operator" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=operator-packages /opt/mainstem /opt/mainstem
COPY --from=operator-wheels /wheels/ /
USER 10001:10001
ENTRYPOINT ["/usr/bin/tini", "--", "mainstem-operator"]

# ---- app ----
FROM build AS app-packages
COPY requirements-app.lock /build/
RUN $PIP --require-hashes --requirement /build/requirements-app.lock
# Removed, in MB: from the Kubernetes client as in the operator, 87; tests of pandas, numpy and pyarrow, 63; Arrow Flight,
# 33; C++ headers and Cython sources of numpy and pyarrow, 10; RocksDB for other systems, 61; Spark Connect's
# server and shell, 73; TLS libraries for other systems, 4; Spark's examples, 2.
# The archive cannot contain classes of a signed jar. So janino, which compiles every query, loses its signature. Each jar has
# a time that follows from its content: Java compares an archive with the path, size and time of each jar, and layers may be
# built again.
RUN cd /opt/mainstem && rm -f bin/activate* bin/Activate* \
    && cd lib/python3.11/site-packages \
    && find kubernetes -name __pycache__ -prune -exec rm -r {} + \
    && python3 -m compileall -q -b -o 2 kubernetes && find kubernetes -name '*.py' -delete \
    && find pandas numpy pyarrow -type d -name tests -prune -exec rm -r {} + \
    && rm -r pyarrow/include pyarrow/includes pyarrow/src numpy/_core/include \
    && find pyarrow numpy pandas '(' -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' ')' -delete \
    && rm pyarrow/libarrow_flight* pyarrow/_flight* pyarrow/libarrow_python_flight* \
    && python3 -B -c 'import pandas, pyarrow.dataset, pyarrow.fs, pyarrow.parquet' \
    && rm -r pyspark/examples pyspark/data pyspark/jars/spark-connect_* pyspark/jars/connect-repl \
    && rm pyspark/jars/netty-*osx* pyspark/jars/netty-*windows* \
    && zip -qd pyspark/jars/rocksdbjni-*.jar '*.dll' '*.jnilib' '*-musl.so' '*-linux32.so' '*-ppc64le.so' '*-s390x.so' '*-riscv64.so' \
    && for jar in pyspark/jars/janino-*.jar pyspark/jars/commons-compiler-*.jar; do zip -qd $jar 'META-INF/*.SF' 'META-INF/*.RSA'; done \
    && for jar in pyspark/jars/*.jar; do touch -d @$((1000000000 + 0x$(sha256sum $jar | cut -c1-7))) $jar; done

FROM build AS app-jars
COPY dist/mainstem_jars-*.whl /build/wheels/
RUN $PIP --no-index --prefix /wheels/opt/mainstem /build/wheels/*.whl \
    && for jar in /wheels/opt/mainstem/lib/python3.11/site-packages/mainstem_jars/jars/*.jar; \
    do touch -d @$((1000000000 + 0x$(sha256sum $jar | cut -c1-7))) $jar; done

FROM build AS app-wheels
COPY dist/mainstem-*.whl /build/wheels/
RUN $PIP --no-index --prefix /wheels/opt/mainstem /build/wheels/*.whl

FROM python AS java
RUN apt-get -qq update \
    && mkdir -p /usr/share/man/man1 \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends openjdk-17-jre-headless >/dev/null \
    && rm -f /usr/lib/jvm/*/lib/ct.sym && install -d -o 10001 -g 10001 /opt/mainstem/cds /opt/mainstem/packages \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/* /tmp/* /usr/share/doc/* /usr/share/man/*

FROM java AS app-libraries
COPY --from=app-packages /opt/mainstem /opt/mainstem
COPY --from=app-jars /wheels/ /
# MAINSTEM_PACKAGES is the folder for jars that a derived image adds: they come last on the class path of driver and executors.
ENV MAINSTEM_CDS_ARCHIVE=/opt/mainstem/cds/driver.jsa MAINSTEM_PACKAGES=/opt/mainstem/packages

FROM app-libraries AS app-archive
COPY --from=app-wheels /wheels/ /
USER 10001:10001
RUN python -m mainstem.runtime.spark.class_data_sharing $MAINSTEM_CDS_ARCHIVE && find /tmp -mindepth 1 -delete

# A build context of this name replaces the stage, with the archive of an earlier build: it depends on the jars alone, and takes
# a minute to write.
FROM app-archive AS archive

FROM app-libraries AS app
LABEL org.opencontainers.image.title="mainstem" \
      org.opencontainers.image.description="Streaming pipelines on Kubernetes: driver and executor" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=archive --chown=10001:10001 /opt/mainstem/cds/driver.jsa /opt/mainstem/cds/
COPY --from=app-wheels /wheels/ /
USER 10001:10001
ENTRYPOINT ["/usr/bin/tini", "--", "mainstem"]
