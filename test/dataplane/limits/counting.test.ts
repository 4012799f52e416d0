/** Decisions by upper bounds equal those of a gateway that counts every prompt first. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { type Admission, admit } from '../../../dataplane/request/stages/admit.ts'
import { countLate, settle } from '../../../dataplane/request/stages/settle.ts'
import type { Counter } from '../../../dataplane/tokens/counter.ts'
import { ThreadCounter } from '../../../dataplane/tokens/exact/counters.ts'
import { slicesOf } from '../../../dataplane/tokens/exact/slices.ts'
import { cases } from '../../helpers/cases.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { assemble } from '../assembled-gateway.ts'
import { KEY } from '../request/stages/keys.ts'

const AS_TEXT = { disallowedSpecial: new Set<string>() }

/** Counts like the thread, in this process. */
function counterBy(name: 'o200k_base' | 'cl100k_base', countTokens: typeof o200k): ThreadCounter {
  const count = async (_: unknown, texts: readonly string[]) => {
    let tokens = 0
    for (const text of texts)
      for (const slice of slicesOf(text)) tokens += countTokens(slice, AS_TEXT)
    return tokens
  }
  return new ThreadCounter(name, { count })
}

const COUNTERS = [counterBy('o200k_base', o200k), counterBy('cl100k_base', cl100k)] as const

/** The same, without an upper bound. */
function alwaysExact(counter: Counter): Counter {
  return { by: counter.by, count: (request) => counter.count(request) }
}

const aText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc
    .array(
      fc.constantFrom(
        'the ',
        'for (let i = 0;',
        '\n\t\t',
        'ﷺ',
        '你好',
        '  ',
        '<|endoftext|>',
        '\ud800',
      ),
      {
        maxLength: 40,
      },
    )
    .map((words) => words.join('')),
  fc
    .tuple(fc.constantFrom('a', ' ', '0', '=', '\u0300', '😀'), fc.nat(400))
    .map(([one, times]) => one.repeat(times)),
)

const aMessage = fc.oneof(
  fc.record({ role: fc.constantFrom('user', 'system'), content: aText }),
  fc.record({ role: fc.constant('user'), name: aText, content: fc.constant(null) }),
  aText.map((text) => ({ role: 'user', content: [{ type: 'text', text }, null, 7] })),
  aText.map((name) => ({
    role: 'assistant',
    tool_calls: [{ function: { name, arguments: '{"a":1}' } }],
  })),
)

const aTool = fc.oneof(
  fc.constantFrom(0, {}, null),
  fc.tuple(aText, fc.dictionary(aText, fc.json(), { maxKeys: 3 })).map(([name, properties]) => ({
    type: 'function',
    function: { name, description: `${name}.`, parameters: { properties } },
  })),
)

const members = fc.record(
  {
    messages: fc.array(aMessage, { minLength: 1, maxLength: 3 }),
    tools: fc.array(aTool, { maxLength: 3 }),
    max_tokens: fc.constantFrom(1, 20, 300),
  },
  { requiredKeys: ['messages'] },
)

test('no prompt has more tokens than its upper bound', async () => {
  await fc.assert(
    fc.asyncProperty(members, async (asked) => {
      const request = aRequest(asked)
      for (const counter of COUNTERS) {
        const { tokens, exact } = await counter.count(request)
        assert.equal(exact, true)
        assert.ok(tokens <= (counter.most(request) ?? 0), `${tokens} > ${counter.most(request)}`)
      }
    }),
    { numRuns: cases(300, 50_000) },
  )
})

const MODELS = ['plain', 'dear']

const aConfiguration = fc.record({
  windows: fc.tuple(fc.constantFrom(40, 700, 100_000), fc.constantFrom(90, 100_000, 100_000)),
  counters: fc.constantFrom([0, 0], [0, 1], [0, undefined]),
  written: fc.constantFrom(undefined, 30),
  tokens: fc.constantFrom(500, 50_000, 500_000),
  spend: fc.constantFrom(undefined, 0.0002, 0.01),
  group: fc.constantFrom(undefined, 400, 5000),
  downgrades: fc.boolean(),
})
type Configuration = typeof aConfiguration extends fc.Arbitrary<infer C> ? C : never

function sectionOf(made: Configuration, perMinute: number | undefined) {
  const { windows, written, tokens, spend, group, downgrades } = made
  const upstreams = MODELS.map((model, index) => ({
    name: model,
    provider: 'openai',
    endpoint: 'http://127.0.0.1:1',
    model,
    context_window: windows[index],
  }))
  const chat = { name: 'chat', strategy: 'round_robin', upstreams: MODELS }
  const limit = written === undefined ? {} : { max_tokens_default: written }
  return {
    upstreams,
    routes: [
      { ...chat, ...limit },
      { name: 'small', strategy: 'single', primary: 'plain', ...limit },
    ],
    pricing: {
      models: [
        { model: 'plain', input: 1, output: 2 },
        { model: 'dear', input: 1, output: 2, tiers: [{ above_input_tokens: 50, input: 9 }] },
      ],
    },
    rate_limits: {
      default: {
        requests_per_minute: 6000,
        burst: 1000,
        concurrent_requests: 8,
        ...(perMinute !== undefined && { tokens_per_minute: perMinute }),
      },
    },
    budgets: [
      {
        tenant: 'one',
        tokens_per_day: tokens,
        ...(spend !== undefined && { spend_per_month_usd: spend }),
        ...(downgrades && { on_exceeded: 'downgrade', downgrade_route: 'small' }),
      },
      ...(group === undefined
        ? []
        : [{ name: 'both', tenants: ['one', 'other'], tokens_per_day: group }]),
    ],
  }
}

const aCommand = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      tenant: fc.constantFrom('one', 'one', 'other'),
      route: fc.constantFrom('chat', 'chat', 'small'),
      members,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(20),
      completion: fc.nat(20),
      isReported: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(10, 1000, 20_000, 86_400_000),
    }),
  },
)
type Command = typeof aCommand extends fc.Arbitrary<infer C> ? C : never

interface Running {
  readonly request: ReturnType<typeof aRequest>
  readonly admission: Admission
}

/** While a request runs, the rate is charged with its upper bound until a decision needs its count. */
function withoutRate(headers: Readonly<Record<string, string>>) {
  return Object.entries(headers).filter(([name]) => !name.endsWith('-tokens'))
}

/** Runs commands against one gateway; each answer is the client's, or that of the books. */
class Side {
  readonly #assembled
  readonly #running: Running[] = []
  /** Why requests were refused. */
  readonly reached = new Set<string>()
  counts = 0
  #ids = 0

  constructor(made: Configuration, perMinute: number | undefined, isExact: boolean) {
    this.#assembled = assemble(sectionOf(made, perMinute))
    const { lanes } = this.#assembled.gateway.active
    for (const target of new Set([...lanes.values()].flatMap((lane) => lane.targets))) {
      const at = made.counters[MODELS.indexOf(target.name)]
      const counter = at === undefined ? undefined : COUNTERS[at]
      if (counter === undefined) continue
      Object.defineProperty(target, 'counter', { value: this.#noted(counter, isExact) })
    }
  }

  readonly #known = new Map<Counter, Counter>()

  #noted(counter: ThreadCounter, isExact: boolean): Counter {
    const known = this.#known.get(counter)
    if (known !== undefined) return known
    const noted: Counter = {
      ...alwaysExact({
        by: counter.by,
        count: (request) => {
          this.counts++
          return counter.count(request)
        },
      }),
      ...(!isExact && { most: (request) => counter.most(request) }),
    }
    this.#known.set(counter, noted)
    return noted
  }

  async run(command: Command): Promise<unknown> {
    if (command.kind === 'wait') return this.#assembled.clock.pass(command.ms)
    return command.kind === 'ask' ? await this.#ask(command) : await this.#end(command)
  }

  async #ask({ tenant, route: name, members: asked }: Extract<Command, { kind: 'ask' }>) {
    const { gateway } = this.#assembled
    const { snapshot } = gateway.active
    const request = aRequest(asked)
    const route = snapshot.routes.get(name) ?? assert.fail()
    const rules = snapshot.limits.rules.of(tenant)
    const call = { id: `r${++this.#ids}`, receivedAt: gateway.clock.now() }
    const applicant = { call, request, caller: { key: KEY, tenant }, route, rules }
    try {
      const admission = await admit(applicant, gateway.active, gateway)
      this.#running.push({ request, admission })
      const { lane, fits, maxTokens, limitHeaders } = admission
      const windows = lane.targets.filter(fits).map((target) => target.name)
      const { name } = admission.route
      return { route: name, maxTokens, windows, headers: withoutRate(limitHeaders) }
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      const { code, message, details } = error
      this.reached.add(String(details.facts?.reason ?? code))
      const isOfTokens = !['rpm', 'concurrency'].includes(String(details.facts?.reason))
      const { limitHeaders } = details.learnt ?? {}
      if (isOfTokens || limitHeaders === undefined) return { code, message, details }
      const learnt = { ...details.learnt, limitHeaders: withoutRate(limitHeaders) }
      return { code, message, details: { ...details, learnt } }
    }
  }

  async #end({ which, completion, isReported }: Extract<Command, { kind: 'end' }>) {
    const [ended] = this.#running.splice(which % Math.max(1, this.#running.length), 1)
    if (ended === undefined) return undefined
    const { request, admission } = ended
    const { gateway } = this.#assembled
    const attempt = admission.meter.begin('plain', 'plain')
    attempt.contentEvents = completion
    const { tokens } = await COUNTERS[0].count(request)
    const more = { cachedTokens: 0, reasoningTokens: 0, estimated: false }
    if (isReported) attempt.usage = { promptTokens: tokens, completionTokens: completion, ...more }
    await countLate(request, admission)
    return settle(request, admission, gateway)
  }

  /** The books, after everything has ended. */
  async close(): Promise<unknown> {
    while (this.#running.length > 0)
      await this.#end({ kind: 'end', which: 0, completion: 1, isReported: true })
    const { gateway } = this.#assembled
    const { rules } = gateway.active.snapshot.limits
    return Promise.all(
      ['one', 'other'].map((tenant) => gateway.store.read(tenant, rules.of(tenant))),
    )
  }
}

interface Compared {
  readonly counts: readonly [few: number, all: number]
  readonly reached: ReadonlySet<string>
}

async function compare(
  made: Configuration,
  commands: readonly Command[],
  perMinute: number | undefined,
): Promise<Compared> {
  const [bounded, exact] = [new Side(made, perMinute, false), new Side(made, perMinute, true)]
  for (const [index, command] of commands.entries())
    assert.deepEqual(await bounded.run(command), await exact.run(command), `command ${index}`)
  assert.deepEqual(await bounded.close(), await exact.close())
  return { counts: [bounded.counts, exact.counts], reached: exact.reached }
}

const history = fc.array(aCommand, { minLength: 3, maxLength: 25, size: 'max' })

test('admissions, refusals and charges are those of a gateway that counts every prompt first', async () => {
  let [few, all] = [0, 0]
  const reached = new Set<string>()
  await fc.assert(
    fc.asyncProperty(aConfiguration, history, async (made, commands) => {
      const { counts, reached: reasons } = await compare(made, commands, undefined)
      few += counts[0]
      all += counts[1]
      for (const reason of reasons) reached.add(reason)
    }),
    { numRuns: cases(100, 20_000) },
  )
  for (const reason of ['ERR_GW_CONTEXT_OVERFLOW', 'budget_reserved'])
    assert.ok(reached.has(reason), `none was refused for ${reason}`)
  assert.ok(few < all, `${few} counts instead of ${all}`)
})

test('the same under a limit of tokens a minute, for requests that arrive together', async () => {
  const together = history.map((all) => all.filter(({ kind }) => kind !== 'wait'))
  const perMinute = fc.constantFrom(100, 700, 20_000)
  await fc.assert(fc.asyncProperty(aConfiguration, together, perMinute, compareRated), {
    numRuns: cases(50, 20_000),
  })
})

async function compareRated(made: Configuration, commands: readonly Command[], rate: number) {
  await compare(made, commands, rate)
}
