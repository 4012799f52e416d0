/** A release is not built on the image that a tag happens to name that day. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { baseFault, PINNED } from './helpers/image/pinned-base.ts'

test('a release wants a base with a digest, or an explicit request for a tag', () => {
  const pinned = `registry.example/node:26-slim@sha256:${'a'.repeat(64)}`
  assert.equal(baseFault({ release: true, base: pinned }), undefined)
  assert.equal(baseFault({ release: true }), undefined)
  assert.match(
    baseFault({ release: true, base: 'node:26-slim' }) ?? '',
    /node:26-slim has no digest/,
  )
  assert.match(baseFault({ release: true, base: 'node@sha256:abc' }) ?? '', /has no digest/)
  assert.equal(baseFault({ release: true, base: 'node:26', 'allow-tag': true }), undefined)
  assert.equal(baseFault({ base: 'node:26' }), undefined)
})

test('the Dockerfile builds on one image, of the Node that the tests run on', () => {
  const root = join(import.meta.dirname, '..')
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const base = /^ARG BASE_IMAGE=(.*)$/m.exec(dockerfile)?.[1] ?? ''
  assert.match(base, PINNED)
  assert.ok(base.includes(`/node:${devDependencies.node}-slim@`), base)
})
