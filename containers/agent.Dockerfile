# An image trials can run in: Python, node with npm, git and bash, and a user of its own for the agent.
#
#     docker build -f containers/agent.Dockerfile -t sphynx-agent containers
#
# Any other image will do that has bash and Python 3.11 or newer; add what your cases need to this one.
ARG BASE=debian:trixie-slim
FROM ${BASE}

RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      bash ca-certificates curl git jq nodejs openssh-client patch procps python3 python3-pip python3-venv \
      ripgrep unzip \
 && rm -rf /var/lib/apt/lists/*

# Debian's own npm brings some five hundred packages with it; this is npm alone.
ARG NPM_VERSION=10.9.4
ARG NPM_SHA512=3a7506f37e85c1ba1021baad79f0cd9724748131f321fc117c4dc3ba235ec01be7327584a41d15117c01945560aa9373220628fcc1e1dddd877a5fe9b336a900
RUN curl -fsSL -o /tmp/npm.tgz "https://registry.npmjs.org/npm/-/npm-${NPM_VERSION}.tgz" \
 && echo "${NPM_SHA512}  /tmp/npm.tgz" | sha512sum --check --quiet \
 && mkdir -p /usr/local/lib/node_modules/npm \
 && tar -xzf /tmp/npm.tgz -C /usr/local/lib/node_modules/npm --strip-components 1 --no-same-owner \
 && ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && rm /tmp/npm.tgz

# The agent and what it starts run as this user, the programs that watch over them as root: an agent that
# cannot write to the system cannot change what its checks are run with.
RUN useradd --create-home --shell /bin/bash agent
USER agent
