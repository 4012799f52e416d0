# Every target goes through npm's scripts, so that the pinned Node of node_modules runs whatever the host has.
.DEFAULT_GOAL := help
.PHONY: help install ready run test test-unit test-simulation simulate-long test-integration test-runtimes test-cluster test-image \
  test-e2e cluster-up cluster-down results image package release site sbom manifests check generate bench profile bench-attacks bench-peers bench-governed test-clients move-litellm fresh-machine console-screenshots \
  new-provider new-api

help: ## print these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-19s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The checksum of the lock file that was installed. It is written last: npm ci that was interrupted runs again.
INSTALLED := node_modules/.installed

# What the binaries of nodejs.org need and a small Linux may lack.
NO_NODE := "error: Node 26 cannot start here, see above. On Linux it needs glibc and libatomic.so.1: \
apt-get install libatomic1 (Debian, Ubuntu) or dnf install libatomic (Fedora), then make again."

# An older npm would leave out what asks for a newer Node than its own, so that it only brings the npm that installs.
NEW_ENOUGH := node -e 'const [a, b] = process.versions.node.split(".").map(Number); \
process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)'
INSTALLER := .cache/npm/node_modules/.bin

install:
	@echo 'Installing what package-lock.json names; this takes a minute the first time.'
	@$(NEW_ENOUGH) || npm install --prefix .cache/npm --no-save --loglevel=error npm@11 \
	  "node@$$(node -p 'require("./package.json").devDependencies.node')"
	@$(NEW_ENOUGH) || $(INSTALLER)/node --version >/dev/null || { echo $(NO_NODE) >&2; exit 1; }
	@PATH="$(CURDIR)/$(INSTALLER):$$PATH" npm ci --loglevel=error
	@cksum <package-lock.json >$(INSTALLED)

ready:
	@[ "$$(cat $(INSTALLED) 2>&1)" = "$$(cksum <package-lock.json)" ] || $(MAKE) --no-print-directory install
	@node_modules/.bin/node --version >/dev/null || { echo $(NO_NODE) >&2; exit 1; }

run: ready ## start a simulated model and the gateway, and print how to call them
	@npm run --silent start

test: ready ## run every tier of tests that this machine can run
	@npm run --silent test

test-unit: ready ## run the tests that need nothing but Node
	@npm run --silent test:unit

test-simulation: ready ## run thousands of histories of several gateways and one Redis in virtual time
	@npm run --silent test:simulation

simulate-long: ready ## the same with a hundred thousand, and random tests at length; SEEDS=1-1000000 for more
	@GW_SEEDS=$(or $(SEEDS),1-100000) npm run --silent test:simulation
	@GW_LONG=1 npm run --silent test:random

results: ready ## measure what is promised and write test/integration/results.md
	@npm run --silent test:results

test-cluster: ready ## run the tests with a real Kubernetes API server; the first run builds it
	@npm run --silent test:cluster

test-e2e: ready ## run the tests in a real cluster: one node on this machine, or that of E2E_KUBECONFIG with E2E_IMAGE
	@npm run --silent test:e2e

cluster-up: ready ## start a Kubernetes of one node in a network namespace, and print how to use it
	@npm run --silent cluster -- up

cluster-down: ready ## remove it and all that it left
	@npm run --silent cluster -- down

test-integration: ready ## run the tests with real processes, sockets, SDKs and a model server
	@npm run --silent test:integration

test-runtimes: ready ## run the tests with runtimes that are too large for the others; the first run brings them
	@npm run --silent test:runtimes

test-image: ready ## build the image twice on a stand-in base, compare, and run it
	@npm run --silent test:image

test-clients: ready ## put published clients and agents before a gateway and write dataplane/docs/clients.md and client-sessions.md; the first run brings 3 GB
	@npm run --silent test:clients

move-litellm: ready ## move a real LiteLLM with its database and clients to gw, and write what it saw to cli/docs/moving.md; the first run brings 1 GB
	@npm run --silent test:moving

fresh-machine: ready ## type the README into a new clone, and write what it printed to cli/docs/fresh-machine.md
	@npm run --silent test:fresh-machine

image: ready ## build the image; IMAGE=NAME BASE_IMAGE=NAME[@sha256:DIGEST] OUTPUT=FILE.tar RELEASE=1 ALLOW_TAG=1
	@node_modules/.bin/node test/helpers/image/build.ts $(if $(IMAGE),--image $(IMAGE)) $(if $(BASE_IMAGE),--base $(BASE_IMAGE)) $(if $(OUTPUT),--output $(OUTPUT)) $(if $(RELEASE),--release) $(if $(ALLOW_TAG),--allow-tag)

package: ready ## make the package of npm in .cache/package: npx ./gw-VERSION.tgz run --file gw.yaml
	@mkdir -p .cache/package
	@npm pack --silent --pack-destination .cache/package

release: ready ## make package, chart, images, their list and checksums in .cache/release; BASE_IMAGE=NAME@sha256:DIGEST
	@npm run --silent release -- $(if $(BASE_IMAGE),--base $(BASE_IMAGE))

sbom: ready ## write what the image is made of to .cache/gw.cdx.json (CycloneDX)
	@mkdir -p .cache
	@node_modules/.bin/node test/helpers/image/sbom.ts .cache/gw.cdx.json

manifests: ready ## write the chart as plain manifests to .cache/manifests; VALUES=FILE
	@node_modules/.bin/node test/charts/manifests.ts $(VALUES)

console-screenshots: ready ## take the pictures of dataplane/docs/console.md; needs chromium-headless-shell
	@node_modules/.bin/node test/helpers/console/screenshots.ts

new-provider: ready ## begin a provider from its template, with fixtures; NAME=x
	@node_modules/.bin/node test/templates/new.ts provider $(NAME)
	@node_modules/.bin/biome check --write --log-level=none dataplane/providers

new-api: ready ## begin an API for clients from its template, with a test; NAME=x
	@node_modules/.bin/node test/templates/new.ts api $(NAME)
	@node_modules/.bin/biome check --write --log-level=none dataplane/apis

site: ready ## make a site of all documents in .cache/site; SERVE=1 BASE=/PATH/ VERSIONS='1.4.0=URL ...'
	@npm run --silent site -- $(if $(SERVE),--serve) $(if $(BASE),--base $(BASE)) $(foreach one,$(VERSIONS),--version $(one))

check: ready ## format, lint, types, unused code, and the rules of the tree
	@npm run --silent check

generate: ready ## write the files that are made from the code
	@npm run --silent generate

bench: ready ## measure against nginx; make bench ARGS=--quick for a short run
	@npm run --silent bench -- $(ARGS)

profile: ready ## print where the processor time of a request goes, by stage, and draw a flame graph
	@npm run --silent bench:profile

bench-attacks: ready ## measure other clients while a caller or an upstream attacks; ARGS='SECONDS WORDS'
	@npm run --silent bench:attacks -- $(ARGS)

bench-peers: ready ## measure other gateways beside this one; the first run brings them; ARGS='ROUNDS PEER' for a short run
	@npm run --silent bench:peers -- $(ARGS)

bench-governed: ready ## check the books of this gateway and of others; ARGS='TIMES SYSTEM' for a short run
	@npm run --silent bench:governed -- $(ARGS)
