/** The key that groups similar requests, and how several independent gateways load endpoints by it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UpstreamSettings } from '../../../../dataplane/config/snapshot.ts'
import { affinityKeyOf } from '../../../../dataplane/upstream/endpoints/affinity-key.ts'
import {
  affine,
  hashOf,
  type Loaded,
  mixed,
} from '../../../../dataplane/upstream/endpoints/choice.ts'
import type { ModelRequest } from '../../../../dataplane/wire/inner-form.ts'
import { aRandom } from '../../../helpers/random.ts'

const settings = { model: 'm', section: { balance: 'affinity' } } as unknown as UpstreamSettings

function keyOf(body: unknown, header?: string): number | undefined {
  const client = { header: (name: string) => (name === 'x-session-id' ? header : undefined) }
  return affinityKeyOf({ body } as ModelRequest, settings, client)
}

const asking = (...contents: readonly string[]) =>
  contents.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }))

test('the first words of a conversation stay its key while it continues', () => {
  const begun = keyOf({ messages: asking('how are you?') })
  assert.notEqual(begun, undefined)
  assert.equal(keyOf({ messages: asking('how are you?', 'well', 'and now?') }), begun)
  assert.notEqual(keyOf({ messages: asking('who are you?') }), begun)
})

test('a key of the prompt cache wins over a header, which wins over the text', () => {
  const messages = asking('one')
  const byHeader = keyOf({ messages }, 'session')
  assert.equal(keyOf({ messages: asking('other') }, 'session'), byHeader)
  assert.notEqual(byHeader, keyOf({ messages }))
  const byKey = keyOf({ messages, prompt_cache_key: 'k' }, 'session')
  assert.equal(keyOf({ messages: asking('other'), prompt_cache_key: 'k' }, 'else'), byKey)
  assert.notEqual(byKey, byHeader)
})

const odd: readonly unknown[] = [
  {},
  { messages: [] },
  { messages: null, prompt: 7 },
  { messages: [null, 3, 'x', {}] },
  { messages: [{ role: 'user' }, { role: 'system', content: null }] },
  { messages: [{ role: 'user', content: [null, {}, { text: 5 }, { text: 'a' }] }] },
  { messages: asking('x'), tools: [null, {}, { function: null }, { function: { name: 1 } }] },
  { messages: asking('x'), tools: 'none', prompt_cache_key: '' },
  { prompt: ['a', 1] },
]
for (const body of odd) {
  test(`a body like ${JSON.stringify(body)} has a key or none, and breaks nothing`, () => {
    const key = keyOf(body)
    assert.ok(key === undefined || Number.isInteger(key))
  })
}

/** An endpoint as one gateway sees it: its own requests now, those of the others two seconds ago. */
class View implements Loaded {
  readonly hash: number
  inFlight = 0
  #reported = 0
  #ownThen = 0

  constructor(index: number) {
    this.hash = mixed(hashOf(`10.0.0.${index} 8000`))
  }

  report(all: number): void {
    this.#reported = all
    this.#ownThen = this.inFlight
  }

  load(): number {
    return this.inFlight + Math.max(0, this.#reported - this.#ownThen)
  }

  isCrammed(): boolean {
    return false
  }
}

/** A key with 60 % of the traffic beside 300 others; steps of 10 ms, requests of 2 to 6 s. */
function simulate(gateways: number, endpoints: number, perStep: number) {
  const random = aRandom(11)
  const views = Array.from({ length: gateways }, () =>
    Array.from({ length: endpoints }, (_, index) => new View(index)),
  )
  const running: { view: View; at: number; endsAt: number }[] = []
  const totals = new Array<number>(endpoints).fill(0)
  const seen = new Map<string, Set<number>>()
  let [hits, turns, busiest, samples] = [0, 0, 0, 0]
  for (let step = 0; step < 6000; step++) {
    for (let left = running.length - 1; left >= 0; left--) {
      const one = running[left] as (typeof running)[number]
      if (one.endsAt > step) continue
      one.view.inFlight--
      totals[one.at] = (totals[one.at] ?? 0) - 1
      running.splice(left, 1)
    }
    if (step % 200 === 0)
      for (const view of views) for (const [at, one] of view.entries()) one.report(totals[at] ?? 0)
    for (let count = 0; count < perStep; count++) {
      const name = random(10) < 6 ? 'hot' : `session ${random(300)}`
      const view = views[random(gateways)] as View[]
      const chosen = affine(view, hashOf(name), step) as View
      const at = view.indexOf(chosen)
      chosen.inFlight++
      totals[at] = (totals[at] ?? 0) + 1
      running.push({ view: chosen, at, endsAt: step + 200 + random(400) })
      if (name === 'hot') continue
      const places = seen.get(name) ?? new Set()
      if (places.size > 0) {
        turns++
        if (places.has(at)) hits++
      }
      seen.set(name, places.add(at))
    }
    if (step < 1000) continue
    busiest += Math.max(...totals) / (running.length / endpoints)
    samples++
  }
  return { busiest: busiest / samples, hits: hits / turns }
}

test('four gateways with reports of two seconds ago keep the busiest endpoint near the mean, and conversations in place', (context) => {
  const { busiest, hits } = simulate(4, 8, 1)
  context.diagnostic(`busiest ${busiest.toFixed(2)} times the mean, ${hits.toFixed(2)} hits`)
  assert.ok(busiest <= 1.8, `${busiest} times the mean`)
  assert.ok(hits >= 0.85, `${hits} hits`)
})
