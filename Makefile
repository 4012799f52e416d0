# Every target goes through npm's scripts, so that the pinned Node of node_modules runs whatever the host has.
.DEFAULT_GOAL := help
.PHONY: help run test test-unit test-simulation simulate-long test-integration test-cluster test-e2e cluster-up cluster-down results check generate bench bench-peers

help: ## print these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1 \t\2/' | expand -t 26

node_modules: package-lock.json
	npm ci
	@touch node_modules

run: node_modules ## start a simulated model and the gateway, and print how to call them
	@npm run --silent start

test: node_modules ## run every tier of tests that this machine can run
	@npm run --silent test

test-unit: node_modules ## run the tests that need nothing but Node
	@npm run --silent test:unit

test-simulation: node_modules ## run thousands of histories of several gateways and one Redis in virtual time
	@npm run --silent test:simulation

simulate-long: node_modules ## the same with a hundred thousand; make simulate-long SEEDS=1-1000000 for more
	@GW_SEEDS=$(or $(SEEDS),1-100000) npm run --silent test:simulation

results: node_modules ## measure what is promised and write test/integration/results.md
	@npm run --silent test:results

test-cluster: node_modules ## run the tests with a real Kubernetes API server; the first run builds it
	@npm run --silent test:cluster

test-e2e: node_modules ## run the tests in a real cluster: one node on this machine, or that of E2E_KUBECONFIG with E2E_IMAGE
	@npm run --silent test:e2e

cluster-up: node_modules ## start a Kubernetes of one node in a network namespace, and print how to use it
	@npm run --silent cluster -- up

cluster-down: node_modules ## remove it and all that it left
	@npm run --silent cluster -- down

test-integration: node_modules ## run the tests with real processes, sockets, SDKs and a model server
	@npm run --silent test:integration

test-image: node_modules ## build the image twice on a stand-in base, compare, and run it
	@npm run --silent test:image

image: node_modules ## build the image; IMAGE=NAME BASE_IMAGE=NAME OUTPUT=FILE.tar
	@node_modules/.bin/node test/image/build.ts $(if $(IMAGE),--image $(IMAGE)) $(if $(BASE_IMAGE),--base $(BASE_IMAGE)) $(if $(OUTPUT),--output $(OUTPUT))

sbom: node_modules ## write what the image is made of to .cache/gw.cdx.json (CycloneDX)
	@mkdir -p .cache
	@node_modules/.bin/node test/image/sbom.ts .cache/gw.cdx.json

manifests: node_modules ## write the chart as plain manifests to .cache/manifests; VALUES=FILE
	@node_modules/.bin/node test/charts/manifests.ts $(VALUES)

check: node_modules ## format, lint, types, unused code, and the rules of the tree
	@npm run --silent check

generate: node_modules ## write the files that are made from the code
	@npm run --silent generate

bench: node_modules ## measure against nginx; make bench ARGS=--quick for a short run
	@npm run --silent bench -- $(ARGS)

bench-peers: node_modules ## measure other gateways beside this one; the first run brings them
	@npm run --silent bench:peers
