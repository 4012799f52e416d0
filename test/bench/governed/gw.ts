/** This gateway, with the limits of a check. */
import { readFile, writeFile } from 'node:fs/promises'
import { parse, stringify } from 'yaml'
import { aKey } from '../../helpers/a-key.ts'
import { aDocument, anUpstream, Front } from '../../helpers/fake-upstream.ts'
import { PLENTY, startGateway } from '../../helpers/gateway-process.ts'
import { ROUTE } from '../gateway.ts'
import { PRICE, type Running, type System, type Terms } from './system.ts'

const TENANT = 'acme'
/** An answer of the checks has ten tokens. */
const ANSWER_TOKENS = 10
const own = aKey({ id: TENANT, tenant: TENANT })
const other = aKey({ id: 'other', tenant: 'other' })

export const gw: System = { name: 'gw', lacks: {}, start }

async function start(terms: Terms): Promise<Running> {
  const env = { UPSTREAM_KEY: 'upstream-credential' }
  const gateway = await startGateway({ config: documentOf(terms), env })
  const front = new Front(gateway, own.key)
  return {
    url: gateway.url,
    key: front.key,
    async kill() {
      gateway.signal('SIGKILL')
      await gateway.exited
    },
    async revoke() {
      const document = parse(await readFile(gateway.configFile, 'utf8'))
      const records: readonly { readonly tenant: string }[] = document.gw.api_keys
      document.gw.api_keys = records.filter(({ tenant }) => tenant !== TENANT)
      await writeFile(gateway.configFile, stringify(document))
    },
    async spent() {
      const { spend_per_month_usd: month } = await front.admin(`/limits/${TENANT}`)
      return Number(month.used)
    },
    stop: () => gateway.stop(),
  }
}

function documentOf({ upstreamUrl, requestsMax, slots, storeSocket }: Terms) {
  const store = storeSocket && { backend: 'redis', redis: { url: `unix://${storeSocket}` } }
  const tokens = requestsMax === undefined ? 1e9 : requestsMax * ANSWER_TOKENS
  return aDocument({
    upstreams: [anUpstream({ name: 'up', endpoint: upstreamUrl })],
    routes: [{ name: ROUTE, strategy: 'single', primary: 'up' }],
    api_keys: [own.record, other.record],
    rate_limits: {
      default: { ...PLENTY, ...(slots && { concurrent_requests: slots }) },
      ...store,
    },
    budgets: [{ tenant: TENANT, tokens_per_day: tokens, spend_per_month_usd: 1e6 }],
    pricing: [{ model: 'served', ...PRICE }],
  })
}
