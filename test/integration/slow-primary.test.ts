/** `overflow.on_slo_breach`: requests leave a primary whose first tokens miss the objective, and return after the window. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startFront, startUpstream, streaming } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const [primary, spare] = [await startUpstream(), await startUpstream()]
/** First content later than the objective of one millisecond. */
const late =
  (wait: number) =>
  async (...asked: Parameters<ReturnType<typeof streaming>>) => {
    await new Promise((resolve) => setTimeout(resolve, wait))
    await streaming()(...asked)
  }
const pair = {
  strategy: 'primary_with_fallback',
  primary: 'primary',
  fallback: ['spare'],
  overflow: { on_slo_breach: 'fallback' },
}
const front = await startFront({
  upstreams: [
    { name: 'primary', endpoint: primary.url },
    { name: 'spare', endpoint: spare.url },
  ],
  slo: { ttft_p95_ms: 1, window_seconds: 3 },
  routes: [
    { ...pair, name: 'leaves' },
    { ...pair, name: 'stays', overflow: { on_timeout: 'fallback' } },
    { ...pair, name: 'patient', slo: { ttft_p95_ms: 60_000 } },
  ],
})
after(() => Promise.all([front.process.stop(), primary.close(), spare.close()]))

test('requests leave a slow primary, and return when its slow streams have left the window', async () => {
  primary.reply = late(5)
  spare.reply = streaming()
  // The first question begins the window.
  await front.stream({ model: 'leaves' })
  await until('the primary is left', async () => {
    await front.stream({ model: 'leaves' })
    return spare.asked.length > 0
  })
  assert.ok(primary.asked.length >= 5, `after ${primary.asked.length} streams`)
  const heard = await front.stream({ model: 'leaves' })
  assert.equal((await front.trace(heard)).upstream, 'spare')
  const spilled = 'gw_overflow_total{route="leaves",reason="slo_breach"}'
  assert.ok((await front.value(spilled)) >= 2)
  for (const model of ['stays', 'patient'])
    assert.equal((await front.trace(await front.stream({ model }))).upstream, 'primary', model)
  const before = primary.asked.length
  await until('the primary is first again', async () => {
    await front.stream({ model: 'leaves' })
    return primary.asked.length > before
  })
})
