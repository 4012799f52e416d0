/** primary_with_fallback: which faults of the primary spill, for every value of `overflow`. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  after as afterwards,
  errorOf,
  failing,
  refusingUrl,
  silent,
  startFront,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const REASONS = ['on_upstream_error', 'on_timeout', 'on_queue_saturated'] as const

/** Every subset of the reasons, and no `overflow`, which means all of them. */
const COMBINATIONS = [...Array(8).keys(), undefined].map((bits) => ({
  name: bits === undefined ? 'absent' : `set-${bits}`,
  spills: REASONS.filter((_, position) => bits === undefined || bits & (1 << position)),
  written: bits !== undefined,
}))

/** The fault of a primary, whether it spills, how it is counted, and the answer if it does not. */
const TROUBLES = {
  failing: {
    by: 'on_upstream_error',
    as: 'upstream_error',
    status: 502,
    code: 'ERR_GW_UPSTREAM_ERROR',
  },
  refusing: {
    by: 'on_upstream_error',
    as: 'upstream_error',
    status: 502,
    code: 'ERR_GW_UPSTREAM_ERROR',
  },
  silent: { by: 'on_timeout', as: 'timeout', status: 504, code: 'ERR_GW_PROXY_TIMEOUT' },
  full: {
    by: 'on_queue_saturated',
    as: 'queue_saturated',
    status: 503,
    code: 'ERR_GW_QUEUE_SATURATED',
  },
} as const

const release = Promise.withResolvers<void>()
const [broken, mute, busy, spare] = await Promise.all([
  startUpstream(failing(500)),
  startUpstream(silent),
  startUpstream(afterwards(release.promise, whole('busy'))),
  startUpstream(whole('spare')),
])

function overflowOf({ spills, written }: (typeof COMBINATIONS)[number]) {
  if (!written) return {}
  const named = REASONS.map((reason) => [reason, spills.includes(reason) ? 'fallback' : 'none'])
  return { overflow: Object.fromEntries(named) }
}

const front = await startFront({
  upstreams: [
    { name: 'failing', endpoint: broken.url },
    { name: 'refusing', endpoint: await refusingUrl() },
    { name: 'silent', endpoint: mute.url, timeout_seconds: 1 },
    { name: 'full', endpoint: busy.url, max_queue_depth: 1 },
    { name: 'spare', endpoint: spare.url },
  ],
  routes: [
    ...Object.keys(TROUBLES).flatMap((primary) =>
      COMBINATIONS.map((combination) => ({
        name: `${primary}-${combination.name}`,
        strategy: 'primary_with_fallback',
        primary,
        fallback: ['spare'],
        ...overflowOf(combination),
      })),
    ),
    { name: 'hold', strategy: 'single', primary: 'full' },
  ],
})
after(() =>
  Promise.all([front.process.stop(), broken.close(), mute.close(), busy.close(), spare.close()]),
)

const held = front.ask({ model: 'hold' })
await until('the full primary is full', () => busy.asked.length === 1)

for (const [trouble, { by, as, status, code }] of Object.entries(TROUBLES)) {
  test(`a primary that is ${trouble}`, { concurrency: true }, async (t) => {
    const cases = COMBINATIONS.map((combination) =>
      t.test(`spills to [${combination.spills}], ${combination.name}`, async () => {
        const route = `${trouble}-${combination.name}`
        const spills = combination.spills.includes(by)
        const heard = await front.chat({ model: route })
        const counted = await front.value(`gw_overflow_total{route="${route}",reason="${as}"}`)
        assert.equal(counted, spills ? 1 : 0)
        assert.equal(heard.status, spills ? 200 : status, heard.text)
        if (spills) {
          assert.equal(heard.headers['x-gw-upstream'], 'spare')
          return
        }
        assert.equal(errorOf(heard).code, code)
        assert.doesNotMatch(errorOf(heard).message, /spare/)
        assert.equal(heard.headers['x-gw-upstream'], trouble === 'full' ? 'none' : trouble)
      }),
    )
    await Promise.all(cases)
  })
}

test('the full primary serves again when it has room', async () => {
  release.resolve()
  assert.equal((await held.over).status, 200)
  assert.match((await front.chat({ model: 'full-absent' })).text, /busy/)
})
