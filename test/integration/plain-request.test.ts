/** The cost of a request on a route without optional features. The counts do not depend on the load of the machine. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { QUESTION, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

/** Promises of an answer that is no stream. A stage that need not wait makes none. */
const PROMISES_MAX = 12
/** Bytes of all objects of a request, before the compiler has optimised its code. */
const BYTES_MAX = 54_000
const WARM_UP = 400
const COUNTED = 200

/** Each signal ends a phase: before, objects, promises. */
const COUNTING = `
import { createHook } from 'node:async_hooks'
import { Session } from 'node:inspector/promises'
const session = new Session()
let promises = 0
const hook = createHook({ init: (_id, type) => { if (type === 'PROMISE') promises++ } })
const sum = ({ selfSize, children }) => children.reduce((all, one) => all + sum(one), selfSize)
const show = (counted) => process.stderr.write(JSON.stringify({ counted }) + '\\n')
const phases = [
  async () => {
    session.connect()
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: 512,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
    show('begun')
  },
  async () => {
    const { profile } = await session.post('HeapProfiler.stopSampling')
    session.disconnect()
    show(sum(profile.head))
    hook.enable()
  },
  async () => {
    hook.disable()
    show(promises)
  },
]
process.on('SIGUSR2', () => phases.shift()())
`

const upstream = await startUpstream(whole('hello'))
const front = await startFront(
  {
    upstreams: [{ name: 'a', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'a' }],
  },
  { env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(COUNTING)}` } },
)
after(() => Promise.all([front.process.stop(), upstream.close()]))

/** On one connection, as most clients do. */
async function ask(times: number): Promise<void> {
  const headers = { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' }
  const body = JSON.stringify(QUESTION)
  for (let index = 0; index < times; index++) {
    const url = `${front.process.url}/v1/chat/completions`
    const answer = await fetch(url, { method: 'POST', headers, body })
    assert.equal(answer.status, 200)
    await answer.arrayBuffer()
  }
}

/** Ends a phase, and resolves with its count. */
async function counted(phase: number): Promise<unknown> {
  front.process.signal('SIGUSR2')
  const found = () => [...front.process.output().matchAll(/^\{"counted":(.*)\}$/gm)]
  await until('the phase has ended', () => found().length > phase)
  return JSON.parse(found()[phase]?.[1] ?? '')
}

test('a request without optional features makes few promises and few objects', async () => {
  await ask(WARM_UP)
  await counted(0)
  await ask(COUNTED)
  const bytes = Number(await counted(1)) / COUNTED
  await ask(COUNTED)
  // Timers make one now and then.
  const promises = Math.round(Number(await counted(2)) / COUNTED)
  assert.ok(promises <= PROMISES_MAX, `${promises} promises a request; ${PROMISES_MAX} are allowed`)
  assert.ok(bytes <= BYTES_MAX, `${Math.round(bytes)} bytes a request; ${BYTES_MAX} are allowed`)
})
