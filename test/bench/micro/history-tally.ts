/** The cost of the history for a request: the counts of its route, tenant and upstream. */
import { Tally } from '../../../dataplane/store/history/tally.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace } from '../../../dataplane/telemetry/trace/fields.ts'
import { compare } from './runner.ts'

const usage = { input_tokens: 100, output_tokens: 20, cost_nano_usd: 1_000 }
const attempt = { upstream: 'up', outcome: 'ok', started_ms: 1, usage } as AttemptTrace
const fields = { tenant: 'acme', route: 'chat', status: 200, duration_ms: 800, ttft_ms: 300 }
const trace = { ...newTrace('r', '', 'POST', '/'), ...fields, attempts: [attempt] }
const tally = new Tally()

await compare(import.meta.url, 1_000_000, {
  counted: (times) => {
    for (let index = 0; index < times; index++) tally.add(trace, false)
  },
})
