# One image for the operator, the data plane and the tool `gw`. `make image` builds it.
# BASE_IMAGE: anything with Node 26 and npm, by its digest: a tag is what its registry says today. It is the only thing that is
# fetched besides the packages of the lock file.
ARG BASE_IMAGE=docker.io/library/node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

# It runs the programs of the build, on the machine that builds. Nothing runs in the image that is made, and no package holds
# code of a processor, so that an image for arm64 is built on amd64 without emulation.
ARG BUILD_BASE_IMAGE=${BASE_IMAGE}

FROM --platform=${BUILDPLATFORM} ${BUILD_BASE_IMAGE} AS build
ARG SOURCE_DATE_EPOCH=0
WORKDIR /app
COPY package.json package-lock.json ./
# Registries and their credentials come as a secret of the build (npmrc), authorities as another (ca); neither is kept.
RUN --mount=type=secret,id=npmrc,target=/run/gw-npmrc \
    --mount=type=secret,id=ca,target=/run/gw-ca.crt \
    npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund --userconfig /run/gw-npmrc --cache /tmp/npm
COPY . ./
# What no program loads: types, maps, documents, sources of other runtimes. Then one owner, one mode, one time for all.
RUN find node_modules -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.md' \
      -o -name '*.markdown' -o -name '*.tsbuildinfo' -o -name '.package-lock.json' \) -delete \
 && rm -rf node_modules/.bin node_modules/@types node_modules/undici-types node_modules/zod/src node_modules/ajv/lib \
      node_modules/gpt-tokenizer/cjs node_modules/gpt-tokenizer/data node_modules/gpt-tokenizer/src \
      node_modules/@azure/msal-browser node_modules/js-yaml/dist/browser node_modules/yaml/browser \
      node_modules/*/test node_modules/@*/*/test node_modules/*/benchmark node_modules/*/benchmarks \
      node_modules/*/docs node_modules/*/examples \
      node_modules/@huggingface/tokenizers/dist/*.cjs node_modules/@huggingface/tokenizers/dist/*.min.mjs \
      node_modules/@qdrant/*/dist/browser node_modules/@qdrant/*/dist/cjs node_modules/@qdrant/*/dist/es6 \
      node_modules/chromadb/src node_modules/chromadb/dist/cjs node_modules/chromadb/dist/*.js node_modules/chromadb/dist/cli.mjs \
      node_modules/typescript \
 && find node_modules/web-streams-polyfill/dist -type f ! -name ponyfill.es2018.js -delete \
 && find node_modules/zod -name '*.cjs' -delete \
 && find node_modules -type d \( -name prebuilds -o -name .github -o -path '*/dist/browser' -o -path '*/dist/react-native' \
      -o -path '*/dist/workerd' \) -prune -exec rm -rf {} + \
 && find node_modules -depth -type d -empty -delete \
 && rm -f package-lock.json \
 && mkdir bin && ln -s ../cli/container.ts bin/gw && ln -s ../cli/main.ts bin/kubectl-gw \
 && chmod -R u=rwX,go=rX . && chmod 755 cli/container.ts cli/main.ts \
 && find . -exec touch -h -d "@${SOURCE_DATE_EPOCH}" {} +

FROM --platform=${TARGETPLATFORM} ${BASE_IMAGE}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="gw" \
      org.opencontainers.image.description="An inference gateway: operator, data plane and the tool gw" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /app /app
# A container is reached from outside of it, so that a gateway listens on all addresses unless its configuration says otherwise.
# HOME is where compiled code is kept between starts of a container; the root of the file system is read-only.
ENV PATH=/app/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/tmp \
    NODE_ENV=production \
    GW_LISTEN_ADDRESS=0.0.0.0
WORKDIR /app
USER 65532:65532
EXPOSE 8080 9090
# No shell: the program is the first process and takes the signals itself.
ENTRYPOINT ["node", "/app/cli/container.ts"]
