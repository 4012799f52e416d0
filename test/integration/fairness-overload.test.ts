/**
 * Three tenants send ten times the load of one small upstream with three gateways, and a fourth
 * sends a request now and then. The long run measures the promise; every run checks the order of
 * magnitude on a busy machine.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { event, Front, type Reply, startUpstream } from '../helpers/fake-upstream.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { aRandom } from '../helpers/random.ts'
import { keysOf, limitedDocument } from './limits/limited-gateway.ts'

const WEIGHTS = { gold: 4, silver: 2, bronze: 1 }
const LOUD = Object.keys(WEIGHTS)
const GATEWAYS = 3
const PLACES = 16
const IS_LONG = Boolean(process.env.GW_LONG)
const OVERLOAD = IS_LONG ? 10 : 4
const FIRST_MS = 300
const PIECES_MIN = 3
const PIECES_MAX = 6
const PIECE_TOKENS = 5
const PIECE_MS = 75
const SPAN_MS = IS_LONG ? 10_000 : 3000
const TOLERANCE = IS_LONG ? 0.05 : 0.5
/**
 * First-token time of the quiet tenant under load, compared with idle; a busy machine delays both
 * at random.
 */
const SLOWER_MAX = IS_LONG ? 1.5 : Number.POSITIVE_INFINITY
/** The first requests get the first places. */
const WARM_MS = IS_LONG ? 4000 : 3000
const RUN_MS = IS_LONG ? 60_000 : 4000
const IDLE_MS = IS_LONG ? 10_000 : 1000
const QUIET_EVERY_MS = 250

interface Made {
  readonly at: number
  readonly tenant: string
  readonly tokens: number
}

const made: Made[] = []
let [running, most] = [0, 0]

const random = aRandom(1)

/**
 * Answers of 15 to 30 tokens at an even pace; with one length, all places would become free at the
 * same moment.
 */
const paced: Reply = async (outgoing, { body }) => {
  most = Math.max(most, ++running)
  const tenant = String(body.user)
  outgoing.on('close', () => running--)
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  await delay(FIRST_MS)
  const pieces = PIECES_MIN + random(PIECES_MAX - PIECES_MIN + 1)
  for (let piece = 0; piece < pieces; piece++) {
    made.push({ at: performance.now(), tenant, tokens: PIECE_TOKENS })
    const delta = { content: 'word '.repeat(PIECE_TOKENS) }
    outgoing.write(event({ choices: [{ index: 0, delta, finish_reason: null }] }))
    await delay(PIECE_MS)
  }
  outgoing.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
  const usage = { prompt_tokens: 7, completion_tokens: pieces * PIECE_TOKENS, total_tokens: 0 }
  outgoing.end(`${event({ choices: [], usage })}data: [DONE]\n\n`)
}

const upstream = await startUpstream(paced)
const keys = keysOf([...LOUD, 'quiet'])
const config = limitedDocument(
  {
    upstreams: [
      {
        ...{ name: 'small', endpoint: upstream.url, max_queue_depth: PLACES },
        fairness: { weights: { ...WEIGHTS, quiet: 1 }, max_wait_seconds: 120, max_waiting: 400 },
      },
    ],
    routes: [{ name: 'chat', strategy: 'single', primary: 'small' }],
  },
  keys,
)
const env = { UPSTREAM_KEY: 'upstream-credential' }
const gateways = await Promise.all(
  Array.from({ length: GATEWAYS }, () => startGateway({ config, env })),
)
after(() => Promise.all([...gateways.map((one) => one.stop()), upstream.close()]))

/** Milliseconds until the first content of a stream. */
async function firstTokenMs(turn: number, tenant = 'quiet'): Promise<number> {
  const front = new Front(gateways[turn % GATEWAYS] as never, keys.byTenant.get(tenant) ?? '')
  const beganAt = performance.now()
  const asked = front.ask({ stream: true, user: tenant })
  const incoming = await asked.head
  const ms = await new Promise<number>((resolve) =>
    incoming.once('data', () => resolve(performance.now() - beganAt)),
  )
  assert.equal((await asked.over).status, 200)
  return ms
}

async function quietFor(ms: number): Promise<number> {
  const times: Promise<number>[] = []
  for (let turn = 0; turn < ms / QUIET_EVERY_MS; turn++) {
    times.push(firstTokenMs(turn))
    await delay(QUIET_EVERY_MS)
  }
  const sorted = (await Promise.all(times)).toSorted((one, other) => one - other)
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0
}

test('each tenant gets its weight, and a quiet tenant hardly waits', async (t) => {
  const idle = await quietFor(IDLE_MS)
  made.length = 0
  let isOver = false
  const clients = LOUD.flatMap((tenant) =>
    Array.from({ length: (GATEWAYS * PLACES * OVERLOAD) / LOUD.length }, async (_, turn) => {
      while (!isOver) await firstTokenMs(turn, tenant)
    }),
  )
  const beganAt = performance.now() + WARM_MS
  await delay(WARM_MS)
  const loaded = await quietFor(RUN_MS)
  const endedAt = performance.now()
  isOver = true
  await Promise.all(clients)

  const loud = made.filter(({ tenant }) => tenant !== 'quiet')
  const parts = (tenant: string, from: number, spanMs: number) => {
    const some = loud.filter(({ at }) => at >= from && at < from + spanMs)
    const sum = (all: readonly Made[]) => all.reduce((total, { tokens }) => total + tokens, 0)
    return sum(some.filter((one) => one.tenant === tenant)) / sum(some)
  }
  t.diagnostic(
    `first token of the quiet tenant, p95: ${idle.toFixed(0)} ms idle, ${loaded.toFixed(0)} ms under load`,
  )
  t.diagnostic('tenant due least most each second, compared with its due share')
  for (const [tenant, weight] of Object.entries(WEIGHTS)) {
    const due = weight / 7
    const spans: number[] = []
    for (let from = beganAt; from + SPAN_MS <= endedAt; from += 100)
      spans.push(parts(tenant, from, SPAN_MS))
    const picture = Array.from({ length: Math.floor((endedAt - beganAt) / 1000) }, (_, second) => {
      const ratio = parts(tenant, beganAt + second * 1000, 1000) / due
      return '▁▂▃▄▅▆▇█'[Math.max(0, Math.min(7, Math.round(ratio * 4)))]
    })
    const [least, largest] = [Math.min(...spans), Math.max(...spans)]
    const shown = [due, least, largest].map((one) => `${(one * 100).toFixed(1)} %`.padEnd(8))
    t.diagnostic(`${tenant.padEnd(8)} ${shown.join('')}${picture.join('')}`)
    for (const part of spans)
      assert.ok(Math.abs(part - due) <= TOLERANCE * due, `${tenant} had ${part} instead of ${due}`)
  }
  assert.ok(most <= GATEWAYS * PLACES, `${most} at a time`)
  assert.ok(loaded <= SLOWER_MAX * idle, `${loaded} ms under load, ${idle} ms idle`)
})
