/**
 * Different types have different versions: an operator and a policy use them to detect types that drop foreign fields.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { hashOfTypes, versionOfTypes } from '../../crds/release/types-version.ts'
import { VERSION } from '../../dataplane/base/version.ts'

const CRDS = join(import.meta.dirname, '../../crds')
const TYPES = ['gatewayconfigs', 'gatewaykeys', 'tenantpolicies'].map((name) =>
  parse(readFileSync(join(CRDS, `manifests/${name}.yaml`), 'utf8')),
)
const RELEASED = JSON.parse(readFileSync(join(CRDS, 'release/released.json'), 'utf8'))

test('types that differ from those of a release have another version', () => {
  const hash = hashOfTypes(TYPES)
  for (const { metadata } of TYPES) {
    const version = metadata.annotations['inference.gw/bundle-version']
    assert.equal(version, versionOfTypes(VERSION, hash, RELEASED), metadata.name)
    assert.ok(
      RELEASED[version] === undefined || RELEASED[version] === hash,
      `${metadata.name} is not as ${version} was released; raise the version in package.json, then make generate`,
    )
  }
})

test('a release without changes has the version of the previous one', () => {
  const released = { '1.4.0': 'a', '1.5.0': 'b', '1.5.1': 'b' }
  assert.equal(versionOfTypes('1.5.2', 'b', released), '1.5.0')
  assert.equal(versionOfTypes('1.5.1', 'b', released), '1.5.0')
  assert.equal(versionOfTypes('1.6.0', 'c', released), '1.6.0')
  assert.equal(versionOfTypes('1.6.0', 'a', released), '1.6.0')
})

test('types that changed after their release are refused under its version', () => {
  assert.throws(() => versionOfTypes('1.5.0', 'c', { '1.5.0': 'b' }), /raise the version/)
  assert.equal(versionOfTypes('1.5.0', 'c', { '1.4.0': 'b' }), '1.5.0')
})

test('a field changes the types, and a description does not', () => {
  const of = (node: object) => hashOfTypes([{ spec: { description: { type: 'string', ...node } } }])
  assert.equal(of({ description: 'a' }), of({ description: 'b' }))
  assert.notEqual(of({}), of({ maxLength: 3 }))
})
