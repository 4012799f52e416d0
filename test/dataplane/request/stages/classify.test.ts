/** The difficulty of a prompt chooses a side, is counted, and no longer matters once the client has left. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Presence } from '../../../../dataplane/call/presence.ts'
import { classify } from '../../../../dataplane/request/stages/classify.ts'
import type { Classifiers, Difficulty } from '../../../../dataplane/semantic/classifiers.ts'
import { createMetrics } from '../../../../dataplane/telemetry/metrics.ts'
import { aRequest } from '../../../helpers/providers/a-request.ts'
import { aSnapshotOf } from './snapshots.ts'

const UPSTREAMS = ['small', 'large'].map((name) => ({
  ...{ name, provider: 'openai', endpoint: 'http://127.0.0.1:1', model: name },
}))
const SEMANTIC = { easy: 'small', hard: 'large', threshold: 0.5 }
const ROUTES = [{ name: 'chat', strategy: 'semantic', semantic: SEMANTIC }]
const snapshot = aSnapshotOf({ upstreams: UPSTREAMS, routes: ROUTES })

type Terms = Parameters<Classifiers['judge']>[2]

function asked(judge: (terms: Terms) => Promise<Difficulty>, leftMs = 100) {
  const route = snapshot.routes.get('chat') ?? assert.fail('no route')
  const presence = new Presence()
  const metrics = createMetrics()
  const classifiers = { judge: (_route: object, _request: object, terms: Terms) => judge(terms) }
  const trace = classify(
    aRequest(),
    { route },
    { requestId: 'r', leftMs, presence },
    { classifiers, metrics },
  )
  const counted = () =>
    [...metrics.semanticDecisions.entries()].map(([labels, { value }]) => ({ ...labels, value }))
  return { trace, presence, counted }
}

test('a score from the threshold on is hard, one below is easy, and each is counted', async () => {
  for (const [score, side] of [
    [0.5, 'hard'],
    [0.49, 'easy'],
  ] as const) {
    const { trace, presence, counted } = asked(async () => ({ classifier: 'builtin', score }))
    assert.deepEqual(await trace, { classifier: 'builtin', score, side })
    assert.deepEqual(counted(), [{ route: 'chat', classifier: 'builtin', side, value: 1 }])
    assert.equal(presence.state, 'idle')
  }
})

test("a classifier other than the route's has the reason for it", async () => {
  const { trace } = asked(async () => ({ classifier: 'builtin', score: 0, reason: 'it is away' }))
  assert.equal((await trace).reason, 'it is away')
})

test('the call has the remaining time, at least a millisecond, and ends when the client leaves', async () => {
  const terms = Promise.withResolvers<Terms>()
  const { trace, presence } = asked(async (given) => {
    terms.resolve(given)
    await new Promise((left) => given.signal?.addEventListener('abort', left))
    return { classifier: 'builtin', score: 0 }
  }, -20)
  const { timeoutMs, requestId } = await terms.promise
  assert.deepEqual([timeoutMs, requestId, presence.state], [1, 'r', 'busy'])
  presence.end()
  await trace
  assert.equal(presence.state, 'over')
})
