/** This gateway with the limits of a check: alone, and one or two processes on one Redis. */
import { readFile, writeFile } from 'node:fs/promises'
import { parse, stringify } from 'yaml'
import { aKey } from '../../helpers/a-key.ts'
import { aDocument, anUpstream, Front } from '../../helpers/fake-upstream.ts'
import { type GatewayProcess, PLENTY, startGateway } from '../../helpers/gateway-process.ts'
import { ROUTE } from '../gateway.ts'
import { aRedis } from './stores.ts'
import { PRICE, type Running, type System, type Terms } from './system.ts'

const TENANT = 'acme'
/** An answer of the checks has ten tokens. */
const ANSWER_TOKENS = 10
const own = aKey({ id: TENANT, tenant: TENANT })
const other = aKey({ id: 'other', tenant: 'other' })

const budget = { cap: 'a budget of 100 tokens', isBudget: true }
const RESERVES =
  'it reserves the most that a request may use, so it refuses some of 64 at once and serves them later'
const NO_STORE = 'its counters are those of one process'

export const GATEWAYS: readonly System[] = [
  {
    name: 'gw',
    ...budget,
    remark: RESERVES,
    lacks: { slots: NO_STORE, store: NO_STORE },
    start: (terms) => start(terms, 1),
  },
  {
    name: 'gw, Redis',
    ...budget,
    remark: RESERVES,
    isSlow: true,
    lacks: {},
    startStore: aRedis,
    start: (terms) => start(terms, 1),
  },
  {
    name: 'gw, Redis, 2 processes',
    ...budget,
    remark: RESERVES,
    isSlow: true,
    lacks: {},
    startStore: aRedis,
    start: (terms) => start(terms, 2),
  },
]

async function start(terms: Terms, count: number): Promise<Running> {
  const options = { config: documentOf(terms), env: { UPSTREAM_KEY: 'upstream-credential' } }
  const started = Array.from({ length: count }, () => startGateway(options))
  return running(await Promise.all(started), terms)
}

function running(gateways: readonly GatewayProcess[], terms: Terms): Running {
  const [first, ...others] = gateways
  if (first === undefined) throw new Error('A system has at least one process.')
  return {
    urls: gateways.map(({ url }) => url),
    key: own.key,
    model: ROUTE,
    async kill() {
      first.signal('SIGKILL')
      await first.exited
      return others.length > 0 ? running(others, terms) : await start(terms, 1)
    },
    async revoke() {
      await Promise.all(gateways.map(({ configFile }) => withoutKey(configFile)))
    },
    async spent() {
      const { spend_per_month_usd: month } = await new Front(first, own.key).admin(
        `/limits/${TENANT}`,
      )
      return Number(month.used)
    },
    async stop() {
      await Promise.all(gateways.map((gateway) => gateway.stop()))
    },
  }
}

async function withoutKey(configFile: string): Promise<void> {
  const document = parse(await readFile(configFile, 'utf8'))
  const records: readonly { readonly tenant: string }[] = document.gw.api_keys
  document.gw.api_keys = records.filter(({ tenant }) => tenant !== TENANT)
  await writeFile(configFile, stringify(document))
}

function documentOf({ upstreamUrl, requestsMax, slots, store }: Terms) {
  const tokens = requestsMax === undefined ? 1e9 : requestsMax * ANSWER_TOKENS
  return aDocument({
    upstreams: [anUpstream({ name: 'up', endpoint: upstreamUrl })],
    routes: [{ name: ROUTE, strategy: 'single', primary: 'up' }],
    api_keys: [own.record, other.record],
    rate_limits: {
      default: { ...PLENTY, ...(slots && { concurrent_requests: slots }) },
      ...(store && { backend: 'redis', redis: { url: store.url } }),
    },
    budgets: [{ tenant: TENANT, tokens_per_day: tokens, spend_per_month_usd: 1e6 }],
    pricing: [{ model: 'served', ...PRICE }],
  })
}
