/** Keys that end become events: with the configuration that ends them, and by the hour. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyEvents } from '../../dataplane/gateway/key-events.ts'
import { aClock } from '../helpers/clock.ts'
import { aSnapshot, type KeyFields } from './request/stages/snapshots.ts'

test('a key that was revoked or removed, or has expired, is an event once', () => {
  const clock = aClock()
  const reported: string[] = []
  const log = {
    event: (_level: string, _event: string, message: string) => void reported.push(message),
    request() {},
    flush() {},
  }
  const soon = new Date(clock.wall() + 60_000).toISOString()
  const with_ = (...keys: KeyFields[]) => ({
    snapshot: aSnapshot(keys),
    lanes: new Map(),
    placed: new Map(),
  })
  const world = {
    clock,
    log,
    active: with_({ id: 'a', expires_at: soon }, { id: 'b' }, { id: 'c' }),
  }
  const events = new KeyEvents(world)
  const look = () => {
    clock.pass(30_000)
    events.expire(clock.now())
  }
  look()
  world.active = with_(
    { id: 'a', expires_at: soon },
    { id: 'b', revoked_at: '2026-11-21T12:00:00Z' },
  )
  look()
  look()
  look()
  assert.deepEqual(reported, [
    'The key "a" has expired.',
    'The key "b" was revoked.',
    'The key "c" was removed.',
  ])
})
