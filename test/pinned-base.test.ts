/** A release is not built on whatever a tag leads to that day. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { baseFault } from './image/pinned-base.ts'

test('a release wants a base with a digest, or somebody who asks for a tag', () => {
  const pinned = `registry.example/node:26-slim@sha256:${'a'.repeat(64)}`
  assert.equal(baseFault({ release: true, base: pinned }), undefined)
  assert.match(baseFault({ release: true }) ?? '', /the base of the Dockerfile has no digest/)
  assert.match(
    baseFault({ release: true, base: 'node:26-slim' }) ?? '',
    /node:26-slim has no digest/,
  )
  assert.match(baseFault({ release: true, base: 'node@sha256:abc' }) ?? '', /has no digest/)
  assert.equal(baseFault({ release: true, base: 'node:26', 'allow-tag': true }), undefined)
  assert.equal(baseFault({ base: 'node:26' }), undefined)
})
