/** A sender of telemetry stays open as long as configurations need the same one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Followed } from '../../../dataplane/telemetry/otlp/followed.ts'
import { snapshot } from './tracing/a-decision.ts'

/** Follows configurations and lists what was opened and closed. */
function aFollower() {
  const followed = new Followed()
  const calls: string[] = []
  let opened = 0
  const open = () => {
    const number = ++opened
    calls.push(`open ${number}`)
    return () => void calls.push(`close ${number}`)
  }
  return {
    calls,
    follow: (settings: unknown, one = snapshot) => followed.follow(one, settings, open),
  }
}

test('a configuration with the same settings keeps it open, another one closes it before it opens its own', () => {
  const { calls, follow } = aFollower()
  follow({ url: 'a' })
  follow({ url: 'a' })
  assert.deepEqual(calls, ['open 1'])
  follow({ url: 'b' })
  follow(undefined)
  follow(undefined)
  follow({ url: 'b' })
  assert.deepEqual(calls, ['open 1', 'close 1', 'open 2', 'close 2', 'open 3'])
})

test('the name of the gateway and its proxies count', () => {
  const { calls, follow } = aFollower()
  const { configuration, section } = snapshot
  follow('a')
  follow('a', { ...snapshot, configuration: { ...configuration, metadata: { name: 'renamed' } } })
  follow('a', { ...snapshot, section: { ...section, http_proxy: 'http://proxy:3128' } })
  assert.deepEqual(calls, ['open 1', 'close 1', 'open 2', 'close 2', 'open 3'])
})
