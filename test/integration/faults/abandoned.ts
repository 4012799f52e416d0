/** Simulated requests that end at every possible moment, one table row for each moment. */
import { setImmediate as turn } from 'node:timers/promises'
import type { SimulatedCall, Simulation, UpstreamExchange } from './simulated-gateway.ts'

/** Whole numbers from 0 up to the bound, exclusive. */
export type Draw = (bound: number) => number

const BODY = Buffer.from(
  JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'hello' }] }),
)
const WHOLE_BODY = Buffer.from(BODY.toString().replace(',"stream":true', ''))
const WORD = 'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
const FLOOD = WORD.replace('word', 'w'.repeat(8192))
const ANSWER = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
})

interface Moment {
  readonly name: string
  /** No upstream made a mistake, so no breaker may count a failure. */
  readonly blameless?: true
  readonly live: (simulation: Simulation, draw: Draw) => Promise<SimulatedCall>
}

/** Sends the request and waits until an upstream has it. */
async function asked(simulation: Simulation, body = BODY) {
  const { promise, resolve } = Promise.withResolvers<UpstreamExchange>()
  simulation.onDispatch = resolve
  const call = simulation.call(body)
  call.sendAll()
  return { call, exchange: await promise }
}

/** The primary fails in a way that is not retried, and the fallback has the request. */
async function fallenOver(simulation: Simulation) {
  const { call, exchange } = await asked(simulation)
  const { promise, resolve } = Promise.withResolvers<UpstreamExchange>()
  simulation.onDispatch = resolve
  exchange.head(401, 'application/json')
  exchange.data('{"error":{"message":"no"}}')
  exchange.end()
  return { call, exchange: await promise }
}

async function leaving(call: SimulatedCall): Promise<SimulatedCall> {
  call.leave()
  return call
}

export const MOMENTS: readonly Moment[] = [
  {
    name: 'in its body',
    blameless: true,
    async live(simulation, draw) {
      const call = simulation.call(BODY, 4)
      for (let piece = draw(3); piece > 0; piece--) call.sendPiece()
      await turn()
      return leaving(call)
    },
  },
  {
    name: 'before the head',
    blameless: true,
    live: async (simulation) => leaving((await asked(simulation)).call),
  },
  {
    name: 'before an answer that is not a stream',
    blameless: true,
    live: async (simulation) => leaving((await asked(simulation, WHOLE_BODY)).call),
  },
  {
    name: 'before the first event',
    blameless: true,
    async live(simulation, draw) {
      const { call, exchange } = await asked(simulation)
      exchange.head(200)
      if (draw(2) === 0) exchange.data(': waiting\n\n')
      return leaving(call)
    },
  },
  {
    name: 'behind a heartbeat',
    blameless: true,
    async live(simulation) {
      const { call } = await asked(simulation)
      simulation.pass(5000)
      return leaving(call)
    },
  },
  {
    name: 'in the middle of an event',
    blameless: true,
    async live(simulation, draw) {
      const { call, exchange } = await asked(simulation)
      exchange.head(200)
      for (let words = draw(5); words > 0; words--) exchange.data(WORD)
      exchange.data(WORD.slice(0, draw(WORD.length)))
      if (draw(2) === 0) await turn()
      return leaving(call)
    },
  },
  {
    name: 'while it does not read',
    blameless: true,
    async live(simulation, draw) {
      const { call, exchange } = await asked(simulation)
      call.wire.blocked = true
      exchange.head(200)
      exchange.data(WORD)
      await turn()
      for (let pieces = draw(20); pieces > 0; pieces--) exchange.data(FLOOD)
      return leaving(call)
    },
  },
  {
    name: 'while the fallback is asked',
    live: async (simulation) => leaving((await fallenOver(simulation)).call),
  },
  {
    name: 'in the pause before a repeat',
    async live(simulation) {
      const { call, exchange } = await asked(simulation)
      exchange.fail('ECONNRESET')
      // One turn is enough to judge the failure, and too short for the pause.
      await Promise.resolve()
      return leaving(call)
    },
  },
  {
    name: 'the upstream cuts, and the client disconnects',
    async live(simulation) {
      const { call, exchange } = await asked(simulation)
      exchange.head(200)
      exchange.data(WORD)
      await turn()
      exchange.fail('ECONNRESET')
      return leaving(call)
    },
  },
  {
    name: 'the time is up',
    blameless: true,
    async live(simulation, draw) {
      const { call, exchange } = await asked(simulation)
      exchange.head(200)
      for (let words = draw(3); words > 0; words--) exchange.data(WORD)
      await turn()
      simulation.pass(61_000)
      return call
    },
  },
  {
    name: 'a whole stream',
    blameless: true,
    async live(simulation) {
      const { call, exchange } = await asked(simulation)
      exchange.head(200)
      exchange.data(WORD + END)
      exchange.end()
      return call
    },
  },
  {
    name: 'a whole answer',
    blameless: true,
    async live(simulation) {
      const { call, exchange } = await asked(simulation, WHOLE_BODY)
      exchange.head(200, 'application/json')
      exchange.data(ANSWER)
      exchange.end()
      return call
    },
  },
]

/** Mistakes of the gateway itself, thrown while a request waits. */
export const MISTAKES: readonly Moment[] = [
  {
    name: 'while the request is sent',
    async live(simulation) {
      simulation.onDispatch = (exchange) => {
        exchange.end = () => {}
        simulation.open.delete(exchange)
        throw new Error('injected')
      }
      const call = simulation.call(BODY)
      call.sendAll()
      return call
    },
  },
  ...['head', 'event', 'end'].map((when) => ({
    name: `while the ${when} is read`,
    async live(simulation: Simulation) {
      const { call, exchange } = await asked(simulation, when === 'end' ? WHOLE_BODY : BODY)
      // The next upstream is unreachable.
      simulation.onDispatch = (next) => queueMicrotask(() => next.fail('ECONNREFUSED'))
      exchange.head(200, when === 'end' ? 'application/json' : 'text/event-stream')
      if (when === 'event') exchange.data(WORD)
      // Nested too deeply for any recursion.
      exchange.data(`data: {"x":${'['.repeat(200_000)}${']'.repeat(200_000)},"usage":{}}\n\n`)
      exchange.end()
      return call
    },
  })),
]
