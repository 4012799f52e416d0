/**
 * A gateway in front of every kind of upstream, which records what it generates, and clients that
 * disconnect at random.
 */
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Asked,
  type FakeUpstream,
  type Reply,
  startUpstream,
} from '../../helpers/fake-upstream.ts'
import { PLENTY } from '../../helpers/gateway-process.ts'
import {
  keysOf,
  type Limited,
  standing,
  startLimited,
  untilIdle,
} from '../limits/limited-gateway.ts'
import { tongueOf, type Used } from './tongues.ts'
import { aPrompt, type Draw, type Prompt, pieces } from './writing.ts'

type Fields = Readonly<Record<string, unknown>>

/** The course of one request. */
export interface Plan {
  readonly prompt: Prompt
  readonly stream: boolean
  /** The number of events, and the most tokens in one event. */
  readonly events: number
  readonly most: number
  readonly headMs: number
  readonly gapMs: number
  /** undefined: the client reads the answer to its end. */
  readonly leavesAfterMs: number | undefined
}

const CHAT = ['chat/completions', 'messages', 'responses']
const BOTH = [...CHAT, 'completions']
/** The client APIs for each kind of upstream. */
const PATHS: Readonly<Record<string, readonly string[]>> = {
  openai: [...BOTH, 'embeddings'],
  vllm: [...BOTH, 'embeddings'],
  sglang: BOTH,
  llamacpp: CHAT,
  tgi: CHAT,
  triton: BOTH,
  ollama: CHAT,
  anthropic: CHAT,
  gemini: CHAT,
  bedrock: CHAT,
  cohere: CHAT,
  mistral: CHAT,
}
export const WAYS = Object.entries(PATHS).flatMap(([provider, paths]) =>
  paths.map((path) => ({ provider, path })),
)

/** The route that warms up a gateway. */
const warming = (provider: string) => `warm-${provider}`

/**
 * An answer that is not a stream is generated at a constant pace, as by a model; a few hundred
 * tokens a second.
 */
const WHOLE = { most: 4, events: 100, gapMs: 7 }

/** The part of its prompts that an upstream has cached. */
const CACHED = 0.25

export class Leavers {
  /** The tokens that the upstreams have generated, by kind. */
  readonly made = new Map<string, number>()
  readonly #plans: Plan[] = []
  readonly #random: Draw
  readonly #upstreams: FakeUpstream[] = []
  #gateway: Limited | undefined

  constructor(random: Draw) {
    this.#random = random
  }

  async start(): Promise<void> {
    const upstreams: Fields[] = []
    for (const provider of Object.keys(PATHS)) {
      const upstream = await startUpstream(this.#reply(provider))
      this.#upstreams.push(upstream)
      const more = provider === 'bedrock' ? { region: 'eu-west-1' } : {}
      const vectors = PATHS[provider]?.includes('embeddings')
        ? { embeddings: { model: 'one' } }
        : {}
      const model = 'served'
      upstreams.push({
        name: provider,
        provider,
        endpoint: upstream.url,
        model,
        ...more,
        ...vectors,
      })
    }
    this.#gateway = await startLimited(
      {
        upstreams: upstreams.map((one) => ({ health_check: undefined, ...one })),
        routes: Object.keys(PATHS).flatMap((primary) =>
          [primary, warming(primary)].map((name) => ({ name, strategy: 'single', primary })),
        ),
        rate_limits: { default: PLENTY },
        budgets: [{ tenant: '*', tokens_per_day: 1_000_000_000 }],
        telemetry: { access_log: false },
      },
      keysOf(Object.keys(PATHS)),
    )
  }

  async stop(): Promise<void> {
    await this.#gateway?.stop()
    await Promise.all(this.#upstreams.map((one) => one.close()))
  }

  plan(leaves: boolean): Plan {
    const random = this.#random
    const most = [1, 4, 20, 80][random(4)] as number
    const stream = random(4) > 0
    return {
      prompt: aPrompt(random),
      stream,
      ...(stream
        ? { most, events: 1 + random(most === 1 ? 200 : 40), gapMs: random(4) && 1 + random(8) }
        : WHOLE),
      headMs: random(60),
      leavesAfterMs: leaves ? 5 + random(250) : undefined,
    }
  }

  /** The tokens charged to the tenant of this kind of upstream. */
  async charged(provider: string): Promise<number> {
    const front = (this.#gateway as Limited).as(provider)
    await untilIdle(front, provider)
    return Number((await standing(front, provider)).tokens_per_day.used)
  }

  /** Makes the gateway compile its code, with routes that teach the other routes nothing. */
  async warm(): Promise<void> {
    await Promise.all(WAYS.map((way) => this.ask(way, this.plan(false), warming(way.provider))))
  }

  ask(
    { provider, path }: (typeof WAYS)[number],
    plan: Plan,
    route: string = provider,
  ): Promise<void> {
    const front = (this.#gateway as Limited).as(provider)
    const id = this.#plans.push(plan) - 1
    const body = bodyOf(path, route, `${plan.prompt.text} @${id}@`, plan.stream)
    return new Promise((resolve) => {
      const outgoing = request(`${front.process.url}/v1/${path}`, {
        method: 'POST',
        agent: false,
        headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
      })
      outgoing.on('error', () => resolve())
      outgoing.on('response', (incoming) => {
        incoming.resume().on('error', () => {})
        incoming.on('close', resolve)
      })
      outgoing.on('close', resolve)
      outgoing.end(JSON.stringify(body))
      if (plan.leavesAfterMs !== undefined)
        setTimeout(() => outgoing.destroy(), plan.leavesAfterMs).unref()
    })
  }

  #note(provider: string, tokens: number): void {
    this.made.set(provider, (this.made.get(provider) ?? 0) + tokens)
  }

  #reply(provider: string): Reply {
    return async (outgoing, asked) => {
      const id = Number(/@(\d+)@/.exec(JSON.stringify(asked.body))?.[1])
      const plan = this.#plans[id] as Plan
      const { prompt, events, most, headMs, gapMs } = plan
      const used = { prompt: prompt.tokens, cached: Math.floor(prompt.tokens * CACHED), answer: 0 }
      this.#note(provider, used.prompt)
      await delay(headMs)
      if (asked.path.endsWith('embeddings')) {
        await delay(gapMs * events)
        return void outgoing
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(vectorOf(used)))
      }
      const tongue = tongueOf(provider, asked.path, asksRepeats(asked))
      const streams = plan.stream
      if (streams) {
        outgoing.writeHead(200, { 'content-type': tongue.type })
        outgoing.write(tongue.begin(used))
      }
      let all = ''
      for (const { text, tokens } of pieces(this.#random, most, events)) {
        if (outgoing.destroyed) return
        used.answer += tokens
        all += text
        this.#note(provider, tokens)
        if (streams) outgoing.write(tongue.piece(text, used))
        if (gapMs > 0) await delay(gapMs)
      }
      if (streams) return void outgoing.end(tongue.finish(used))
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify(tongue.whole(all, used)))
    }
  }
}

function vectorOf({ prompt }: Used): Fields {
  const usage = { prompt_tokens: prompt, total_tokens: prompt }
  return { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [1] }], usage }
}

function asksRepeats({ body }: Asked): boolean {
  return (body.stream_options as Fields | undefined)?.continuous_usage_stats === true
}

function bodyOf(path: string, model: string, text: string, stream: boolean): Fields {
  if (path === 'embeddings') return { model, input: text }
  const asked = { model, ...(stream && { stream }) }
  if (path === 'completions') return { ...asked, prompt: text, max_tokens: 4_000 }
  if (path === 'responses') return { ...asked, input: text, max_output_tokens: 4_000 }
  return { ...asked, messages: [{ role: 'user', content: text }], max_tokens: 4_000 }
}
