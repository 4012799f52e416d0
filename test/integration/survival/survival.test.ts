/**
 * Nothing that clients, upstreams, sidecars, vector stores or receivers do ends the gateway, or leaves a request without
 * an end: after random combinations of faults it runs, is ready, and holds nothing.
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { cases } from '../../helpers/cases.ts'
import { aRandom } from '../../helpers/random.ts'
import { answers, until } from '../../helpers/until.ts'
import { heldBy, ROUTES, startTried } from './gateway.ts'
import { deed, drawn, type Order, shown, written } from './orders.ts'
import { startServices } from './services.ts'

const SEED = Number(process.env.GW_SEED ?? 2026)
const AT_ONCE = 40
/** A client that leaves later does so within this time. */
const LEAVING_MS = 150

const services = await startServices()
const front = await startTried(services.url)
after(() => Promise.all([front.process.stop(), services.close()]))

/** Resolves when nothing more comes for the client. */
async function ask(order: Order): Promise<void> {
  const messages = [{ role: 'user', content: written(order) }]
  const body = JSON.stringify({ model: order.route, stream: order.stream, messages })
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const outgoing = request(`${front.process.url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${front.key}`,
      'content-type': 'application/json',
      'content-length': body.length,
    },
  })
  const leavesIf = (moment: string) => () => {
    if (deed(order, 'client') === moment) outgoing.destroy()
  }
  outgoing.on('error', () => resolve()).on('close', resolve)
  outgoing.on('response', (incoming) => {
    incoming.on('error', () => {}).on('close', resolve)
    leavesIf('leaves at the head')()
    incoming.on('data', leavesIf('leaves in the body'))
  })
  services.onCalled.set(order.id, leavesIf('leaves at the call'))
  if (deed(order, 'client') === 'leaves in its own body') {
    outgoing.write(body.slice(0, body.length / 2))
    await delay(1)
    outgoing.destroy()
  } else outgoing.end(body)
  setImmediate(leavesIf('leaves at once'))
  setTimeout(leavesIf('leaves later'), (order.id * 7) % LEAVING_MS)
  await over
}

/** Keeps some requests running until all have ended. The result names those without an end if the gateway ends. */
async function askAll(orders: readonly Order[]): Promise<readonly Order[]> {
  const running = new Set<Order>()
  const waiting = orders.values()
  let last: readonly Order[] = []
  const asking = async () => {
    for (const order of waiting) {
      running.add(order)
      await ask(order)
      running.delete(order)
      if (last.length === 0 && front.logged('crash').length > 0) last = [order, ...running]
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, asking))
  return last
}

test('a gateway survives every combination of faults, and holds nothing afterwards', async (t) => {
  const random = aRandom(SEED)
  const orders = Array.from({ length: cases(300, 6000) }, (_, id) => drawn(id, ROUTES, random))
  t.diagnostic(`seed ${SEED}, ${orders.length} combinations`)
  const last = await askAll(orders)
  assert.deepEqual(front.logged('crash'), [], `beside:\n${last.map(shown).join('\n')}`)
  assert.deepEqual(front.logged('internal_error'), [])
  let held: readonly string[] = []
  const isAtRest = async () => {
    held = await heldBy(front)
    return held.length === 0
  }
  await until('nothing is held', isAtRest, 20).catch(() => undefined)
  assert.deepEqual(held, [])
  assert.ok(await answers(`${front.process.url}/readyz`))
  const lines = front.logged('request')
  const ids = new Set(lines.map((line) => line.request_id))
  assert.equal(ids.size, lines.length, 'a request has more than one line')
  const served = lines.filter(({ status }) => status === 200)
  assert.ok(served.length > 0, 'no request got an answer')
})
