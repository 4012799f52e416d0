/** Each selector of `limits[]` with each measure and window, as one table over gateways that share a store. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { errorOf, Front, type Heard, startUpstream } from '../../helpers/fake-upstream.ts'
import { type GatewayProcess, PLENTY, startGateway } from '../../helpers/gateway-process.ts'
import { until } from '../../helpers/until.ts'
import {
  ANSWER_TOKENS,
  ANSWER_USD,
  keysOf,
  limitedDocument,
  PRICES,
  untilStoreAnswers,
} from './limited-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

interface Selected {
  readonly for: Fields
  readonly holder: string
  /** Members and headers of the requests. */
  readonly body?: Fields
  readonly tags?: string
  /** Members of a request that another counter of the limit counts. */
  readonly other?: { readonly body?: Fields; readonly tags?: string }
}

/** By the name of a row, which its tenant, its key, its route and its model have, too. */
const SELECTORS: Readonly<Record<string, (row: string) => Selected>> = {
  tenant: (row) => ({ for: { tenant: row }, holder: `tenant "${row}"` }),
  tenants: (row) => ({ for: { tenants: [row, 'other'] }, holder: 'several tenants together' }),
  key: (row) => ({ for: { key: row }, holder: `key "${row}"` }),
  route: (row) => ({
    for: { route: row },
    body: { model: row },
    holder: `all callers of route "${row}"`,
  }),
  model: (row) => ({
    for: { model: `${row}*` },
    body: { model: row },
    holder: `all callers of model "${row}*"`,
  }),
  operation: (row) => ({
    for: { operation: 'chat', tenant: row },
    holder: `tenant "${row}"`,
  }),
  upstream: (row) => ({
    for: { upstream: row },
    body: { model: row },
    holder: `upstream "${row}"`,
  }),
  tag: (row) => ({
    for: { tag: { team: row } },
    tags: `team=${row}`,
    holder: `all callers with tag team=${row}`,
  }),
  'each-tenant': (row) => ({ for: { each: 'tenant', tenant: row }, holder: `tenant "${row}"` }),
  'each-key': (row) => ({ for: { each: 'key', tenant: row }, holder: `key "${row}"` }),
  'each-user': (row) => ({
    for: { each: 'user', tenant: row },
    body: { user: 'alice' },
    holder: 'user "alice"',
    other: { body: { user: 'bob' } },
  }),
  'each-tag': (row) => ({
    for: { each: 'tag/project', tenant: row },
    tags: 'project=a',
    holder: 'tag project=a',
    other: { tags: 'project=b' },
  }),
  'each-route': (row) => ({
    for: { each: 'route', tenant: row },
    body: { model: row },
    holder: `route "${row}"`,
    other: { body: { model: 'chat' } },
  }),
  'each-model': (row) => ({
    for: { each: 'model', tenant: row },
    body: { model: row },
    holder: `model "${row}"`,
    other: { body: { model: 'chat' } },
  }),
}

interface Measure {
  /** Which the first request uses up. */
  readonly limit: Fields
  readonly limitedBy: string
  readonly status: 429 | 402
  readonly ends: boolean
}

const rate = (limitedBy: string, amount: number, more: Fields = {}): Measure => ({
  limit: { [limitedBy]: amount, ...more },
  limitedBy,
  status: 429,
  ends: limitedBy !== 'concurrent_requests',
})

const windows = ['hour', 'day', 'week', 'month', '30d', 'total'].flatMap((per) =>
  Object.entries({ usd: ANSWER_USD, tokens: ANSWER_TOKENS }).map(
    ([unit, amount]): [string, Measure] => [
      `${unit}-${per}`,
      {
        limit: { budget: { [unit]: amount, per } },
        limitedBy: 'budget',
        status: 402,
        ends: per !== 'total',
      },
    ],
  ),
)

/** An answer uses seven tokens of the prompt and three of the answer. */
const MEASURES: Readonly<Record<string, Measure>> = {
  requests: rate('requests_per_minute', 1, { burst: 1 }),
  both: rate('tokens_per_minute', ANSWER_TOKENS),
  input: rate('input_tokens_per_minute', 7),
  output: rate('output_tokens_per_minute', 3),
  running: rate('concurrent_requests', 1),
  ...Object.fromEntries(windows),
}

const ROWS = Object.keys(MEASURES).flatMap((measure) =>
  Object.keys(SELECTORS).map((selector) => ({ selector, measure, row: `${selector}-${measure}` })),
)

const selectedBy = ({ selector, row }: (typeof ROWS)[number]): Selected =>
  SELECTORS[selector]?.(row) ?? assert.fail(selector)
const ofSelectors = (...some: string[]) =>
  ROWS.filter(({ selector }) => some.includes(selector)).map(({ row }) => row)

/** `backend`: the section rate_limits without its default. Requests alternate between the gateways. */
export async function testEveryDimension(backend: Fields, gateways: number): Promise<void> {
  const upstream = await startUpstream()
  const keys = keysOf([...ROWS.map(({ row }) => row), 'other'])
  const up = (name: string) => ({ name, model: 'served', endpoint: upstream.url })
  const route = (name: string, primary: string) => ({ name, strategy: 'single', primary })
  const config = limitedDocument(
    {
      upstreams: [up('up'), ...ofSelectors('upstream').map(up)],
      routes: [
        route('chat', 'up'),
        ...ofSelectors('route', 'each-route').map((row) => route(row, 'up')),
        ...ofSelectors('upstream').map((row) => route(row, row)),
      ],
      aliases: Object.fromEntries(ofSelectors('model', 'each-model').map((row) => [row, 'chat'])),
      rate_limits: { ...backend, default: PLENTY },
      limits: ROWS.map((one) => ({
        name: one.row,
        for: selectedBy(one).for,
        ...MEASURES[one.measure]?.limit,
      })),
      usage: { tags: ['team', 'project'] },
      pricing: PRICES,
    },
    keys,
  )
  const env = { UPSTREAM_KEY: 'upstream-credential' }
  const all: GatewayProcess[] = await Promise.all(
    Array.from({ length: gateways }, () => startGateway({ config, env })),
  )
  after(() => Promise.all([...all.map((one) => one.stop()), upstream.close()]))
  for (const one of all) await untilStoreAnswers(new Front(one, ''))
  let turn = 0
  const ask = (row: string, { body = {}, tags }: Pick<Selected, 'body' | 'tags'>) => {
    const front = new Front(
      all[turn++ % all.length] as GatewayProcess,
      keys.byTenant.get(row) ?? '',
    )
    return front.ask({ max_tokens: 3, ...body }, tags === undefined ? {} : { 'x-gw-tags': tags })
  }

  /** A refusal because of the amounts that were used, after as many requests as it takes. */
  const refusalOf = async (row: string, selected: Selected): Promise<Heard> => {
    assert.equal((await ask(row, selected).over).status, 200)
    let heard: Heard | undefined
    await until(`${row} is refused`, async () => {
      heard = await ask(row, selected).over
      // A budget may be reserved until the answer before is settled.
      return heard.status !== 200 && !/by requests that are running/.test(errorOf(heard).message)
    })
    return heard ?? assert.fail()
  }

  /** A refusal while another request runs. */
  const refusalBeside = async (row: string, selected: Selected): Promise<Heard> => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const [before, { reply }] = [upstream.asked.length, upstream]
    upstream.script.push(async (outgoing, asked) => {
      await released
      await reply(outgoing, asked)
    })
    const running = ask(row, selected)
    await until('the upstream has the request', () => upstream.asked.length > before)
    const heard = await ask(row, selected).over
    release()
    assert.equal((await running.over).status, 200)
    return heard
  }

  for (const [measure, { limitedBy, status, ends }] of Object.entries(MEASURES)) {
    test(`${measure}: each selector limits it, and the refusal names the limit, its holder and its end`, async () => {
      const check = async (one: (typeof ROWS)[number]) => {
        const selected = selectedBy(one)
        const { row } = one
        const heard = await (measure === 'running' ? refusalBeside : refusalOf)(row, selected)
        const error = errorOf(heard)
        const isPassedOver = one.selector === 'upstream'
        assert.equal(heard.status, isPassedOver ? 503 : status, heard.text)
        assert.deepEqual([error.limit_name, error.limit_holder], [row, selected.holder])
        if (!isPassedOver) assert.equal(error.limited_by, limitedBy)
        assert.equal(Date.parse(error.resets_at) > Date.now() - 5000, ends, heard.text)
        const { other } = selected
        if (other !== undefined) assert.equal((await ask(row, other).over).status, 200, row)
      }
      const rows = ROWS.filter((one) => one.measure === measure)
      // A request that the upstream holds is the next one that it gets.
      if (measure === 'running') for (const one of rows) await check(one)
      else await Promise.all(rows.map(check))
    })
  }
}
