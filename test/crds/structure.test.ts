/** The rules that an API server has for schemas, checked without one. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import type { Tree } from '../../dataplane/config/document/tree.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'

/** kubectl keeps the whole document in an annotation of at most 256 KiB. */
const BYTES_MAX = 200_000

interface Node {
  readonly path: string
  readonly node: Tree
}

for (const name of ['gatewayconfigs', 'gatewaykeys', 'tenantpolicies']) {
  const file = join(import.meta.dirname, `../../crds/manifests/${name}.yaml`)
  const text = readFileSync(file, 'utf8')
  const versions = ['spec', 'versions', 0, 'schema', 'openAPIV3Schema']
  const nodes = [...walk(valueBelow(parse(text), ...versions), '')]

  test(`${name}: every node has a type, or is marked for several forms`, () => {
    for (const { path, node } of nodes) {
      const isTyped =
        typeof node.type === 'string' ||
        node['x-kubernetes-preserve-unknown-fields'] === true ||
        node['x-kubernetes-int-or-string'] === true
      assert.ok(isTyped, `${path} has no type`)
    }
  })

  test(`${name}: every text, list and map has a bound`, () => {
    for (const { path, node } of nodes) {
      if (path === '.metadata') continue
      if (node.type === 'string') {
        const isBound = node.enum !== undefined || node.maxLength !== undefined
        assert.ok(isBound, `${path} has no maxLength`)
      }
      if (node.type === 'array') assert.ok(node.maxItems !== undefined, `${path} has no maxItems`)
      if (node.additionalProperties !== undefined) {
        assert.ok(node.maxProperties !== undefined, `${path} has no maxProperties`)
      }
    }
  })

  test(`${name}: it has nothing that a structural schema forbids`, () => {
    const forbidden = ['$ref', 'definitions', 'dependencies', 'patternProperties', 'oneOf']
    for (const { path, node } of nodes) {
      for (const word of forbidden) assert.ok(!(word in node), `${path} has ${word}`)
      // It may check a value, and describe none.
      if ('not' in node) assert.deepEqual(Object.keys(Object(node.not)), ['pattern'], path)
      assert.notEqual(node.additionalProperties, false, `${path} forbids further properties`)
      assert.ok(!(node.properties && node.additionalProperties), `${path} is a map and an object`)
    }
  })

  test(`${name}: every field has a description`, () => {
    const own = nodes.filter(({ path }) => /^\.(gw|spec|status)\.[^.[\]]+$/.test(path))
    assert.ok(own.length > 0)
    for (const { path, node } of own) {
      assert.ok(
        typeof node.description === 'string' || 'x-kubernetes-preserve-unknown-fields' in node,
        `${path} has no description`,
      )
    }
  })

  test(`${name}: the API server writes no default into the user's text below gw`, () => {
    const defaults = nodes.filter(({ node }) => 'default' in node).map(({ path }) => path)
    assert.deepEqual(
      defaults,
      name === 'gatewayconfigs' ? ['.spec', '.spec.replicas', '.status'] : ['.status'],
    )
  })

  test(`${name}: no name of it belongs to the Gateway API or Istio`, () => {
    const { categories, shortNames, singular, plural } = parse(text).spec.names
    assert.deepEqual(categories, ['inference-gateway'])
    for (const taken of ['gateway', 'gateways', 'gw']) {
      assert.ok(![...categories, ...shortNames, singular, plural].includes(taken), taken)
    }
  })

  test(`${name}: the description of a choice lists its values`, () => {
    for (const { path, node } of nodes) {
      const choices = choicesOf(node)
      if (choices.length < 2) continue
      const listed = `One of: ${choices.join(', ')}.`
      assert.ok(String(node.description).includes(listed), `${path} does not say "${listed}"`)
    }
  })

  test(`${name}: it is small enough for kubectl apply`, () => {
    assert.ok(JSON.stringify(parse(text)).length < BYTES_MAX)
  })
}

function* walk(node: unknown, path: string): Generator<Node> {
  if (!isRecord(node)) return
  yield { path, node }
  for (const [name, child] of Object.entries(isRecord(node.properties) ? node.properties : {})) {
    yield* walk(child, `${path}.${name}`)
  }
  yield* walk(node.items, `${path}[]`)
  yield* walk(node.additionalProperties, `${path}.*`)
}

/** The values of an enumeration, or of its rule if a reference is allowed. */
function choicesOf(node: Tree): readonly unknown[] {
  if (Array.isArray(node.enum)) return node.enum
  const rules = node['x-kubernetes-validations']
  const [rule] = Array.isArray(rules) ? rules : []
  const [, names] = /^must be one of: (.*)$/.exec(String(valueBelow(rule, 'message'))) ?? []
  return names?.split(', ') ?? []
}
