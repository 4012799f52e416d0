/** The live map: the state of each upstream is in its words, on a phone too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

/** They are modules of a page, without types. */
const PAGE = new URL('../../../dataplane/console/page/', import.meta.url)
const { map } = await import(`${PAGE}views/map.js`)

for (const matches of [true, false]) {
  test(`the map names rates, breaker and queue, ${matches ? 'on a phone' : 'on a wide screen'}`, () => {
    Object.assign(globalThis, { matchMedia: () => ({ matches }) })
    const upstream = {
      name: 'gpu',
      pods: [{ breaker: 'open', health: 'healthy', queue: 3, in_flight: 1 }],
    }
    const drawn = JSON.stringify(
      map({
        routes: [{ name: 'chat', upstreams: [{ name: 'gpu', eligible: false }] }],
        upstreams: [upstream],
        traces: [{ tenant: 'acme', route: 'chat' }],
        rates: {
          tenants: new Map([['acme', { requests: 2 }]]),
          routes: new Map([['chat', { requests: 2, errors: 1, inFlight: 1 }]]),
          upstreams: new Map(),
        },
      }),
    )
    for (const words of [
      'acme: 2 /s',
      'chat: 2 /s, 50.0 % errors, 1 running',
      'gpu: ■ breaker open, 0 /s, 1 running, queue 3',
      'link bad',
    ])
      assert.ok(drawn.includes(words), words)
    assert.doesNotMatch(drawn, /NaN|undefined/)
  })
}

test('the map says how many tenants it leaves out', () => {
  Object.assign(globalThis, { matchMedia: () => ({ matches: false }) })
  const traces = Array.from({ length: 10 }, (_, index) => ({ tenant: `t${index}`, route: 'chat' }))
  const rates = { tenants: new Map(), routes: new Map(), upstreams: new Map() }
  const drawn = (some: object[]) =>
    JSON.stringify(
      map({ routes: [{ name: 'chat', upstreams: [] }], upstreams: [], traces: some, rates }),
    )
  assert.match(drawn(traces), /"Tenants, 8 of 10"/)
  assert.match(drawn(traces.slice(0, 8)), /"Tenants"/)
})
