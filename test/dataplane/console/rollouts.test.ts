/** Rollouts and shadows in the view of routes, and among the current problems. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

/** They are modules of a page, without types. */
const PAGE = new URL('../../../dataplane/console/page/', import.meta.url)
const { attention } = await import(`${PAGE}attention.js`)
const { History } = await import(`${PAGE}history.js`)
const { routing } = await import(`${PAGE}views/routing.js`)

const ROLLOUT = {
  ...{ route: 'chat', to: 'new', phase: 'running', share: 25, step: 2, steps: [5, 25, 100] },
  ...{ requests: 40, requests_needed: 200, changed_at: '2026-11-22T12:00:00Z' },
  compared: [{ measure: 'errors', standing: 'good', text: '0 % failed' }],
  reason: 'The step has too few requests.',
}
const SHADOW = {
  ...{ route: 'chat', upstream: 'new', percent: 10, copies: { sent: 12 } },
  differences: { tokens: 3 },
  real: { answers: 12, failed: 0, first_p95_ms: 400 },
  shadow: { answers: 12, failed: 1, first_p95_ms: 900 },
}
const MODELS = [{ name: 'chat', kind: 'route', strategy: 'single', route: 'chat', upstreams: [] }]

/** The words of the view, for answers of pods by path. */
function viewOf(answers: Readonly<Record<string, readonly object[]>>, text = ''): string {
  Object.assign(globalThis, { matchMedia: () => ({ matches: false }) })
  const ask = (path: string) =>
    answers[path.split('?')[0] ?? '']?.map((body, index) => ({ name: `${index}`, ...body }))
  const sample = { pods: [] }
  const { rates } = new History()
  return JSON.stringify(routing({ sample, rates, ask, rest: [], text }))
}

const ok = (body: object) => ({ status: 200, body })
const models = [ok({ models: MODELS })]

test('a rollout has a row with its state, share, step, comparison and reason; a shadow has one too', () => {
  const rollouts = [ok({ rollouts: [ROLLOUT] }), ok({ rollouts: [ROLLOUT] })]
  const words = viewOf({
    '/models': models,
    '/rollouts': rollouts,
    '/shadows': [ok({ shadows: [SHADOW] })],
  })
  for (const one of [
    ...['"1 rollout"', '"running"', '25 %', '2 of 3', '40 of 200', 'good: 0 % failed'],
    ...[ROLLOUT.reason, 'gw rollout pause chat', '1 shadow', 'sent 12', 'tokens 3', '1 of 12'],
  ])
    assert.ok(words.includes(one), one)
  assert.doesNotMatch(viewOf({ '/models': models, '/rollouts': rollouts }, 'other'), /1 rollout/)
})

test('pods at different steps have a row each, and gateways without rollouts have no table', () => {
  const apart = [{ ...ROLLOUT, share: 5, step: 1 }, ROLLOUT].map((one) => ok({ rollouts: [one] }))
  assert.match(viewOf({ '/models': models, '/rollouts': apart }), /"2 rollouts"/)
  const none = [{ status: 404, body: { error: { message: 'There is no such path.' } } }]
  assert.doesNotMatch(
    viewOf({ '/models': models, '/rollouts': none, '/shadows': none }),
    /Rollouts|Shadows|no such path/,
  )
})

test('a rollout that went back needs attention, with its reason; one that runs does not', () => {
  const found = (phase: string) =>
    attention({ pods: [] }, { rollouts: [{ ...ROLLOUT, phase, reason: 'Too many failed.' }] })
  assert.deepEqual(found('running'), [])
  const [item] = found('back')
  assert.equal(item.words, 'The rollout of route chat to new went back: Too many failed.')
  assert.equal(item.href, '#/routing?q=chat')
})
