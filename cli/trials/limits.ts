/** `gw limits test`: sends requests at a steady rate, and compares the admitted ones with the limit. */
import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type AskedGateways, withGateways } from '../asking/asked-gateways.ts'
import { type Called, type Calling, chat, listModels } from '../asking/client-call.ts'
import { findGateway, withCluster } from '../asking/cluster-access.ts'
import type { Place } from '../asking/place.ts'
import { type Format, printData } from '../printing/formats.ts'
import { EXIT, printLine, printRemark } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'

export interface LimitsTest {
  readonly tenant: string
  /** Requests a minute. */
  readonly rate: number
  /** Milliseconds. */
  readonly duration: number
  readonly viaLoadBalancer?: true
  readonly route?: string
  readonly url?: string
  readonly output: Format
}

const TELL_EVERY_MS = 1000

/** Without a place only the URL is known. */
export async function testOfLimits(
  options: LimitsTest,
  key: string,
  place: Place | undefined,
): Promise<void> {
  const { url, viaLoadBalancer } = options
  if (place === undefined) return await testAt({ url: url ?? '', key }, options, undefined)
  if (url === undefined && viaLoadBalancer)
    return await testAt({ url: await addressOf(place), key }, options, undefined)
  await withGateways(place, async (gateways) => {
    await testAt({ url: url ?? (await gateways[0].clientUrl()), key }, options, gateways)
  })
}

async function addressOf(place: Place): Promise<string> {
  const advice = 'Give the address of the load balancer with --url.'
  if (place.kind === 'stand-alone') throw new Error(advice)
  const gateway = await withCluster(place, findGateway)
  const address = Object(gateway.status).address
  if (typeof address !== 'string') throw new Error(`The gateway has no address yet. ${advice}`)
  return address
}

async function testAt(calling: Calling, options: LimitsTest, gateways: AskedGateways | undefined) {
  const { tenant, rate, duration, output } = options
  const route = options.route ?? (await listModels(calling)).ids[0]
  if (route === undefined) throw new Error('The key may not list routes; name one with --route.')
  await checkTenant(calling, tenant, gateways)
  const own = await burstOf(tenant, gateways)
  const startedAt = performance.now()
  const answers = await send(route, calling, { rate, duration })
  const elapsedMs = performance.now() - startedAt
  const count = (test: (one: Called) => boolean) => answers.filter(test).length
  const limited = answers.filter(({ code }) => code === 'ERR_GW_RATE_LIMIT_LOCAL')
  const refusedByKey = answers.find(({ status }) => status === 401 || status === 403)
  if (refusedByKey !== undefined) throw new Error(`The key was refused: ${refusedByKey.message}`)
  const limit = Number(answers[0]?.headers.get('x-gw-ratelimit-limit') ?? Number.NaN)
  const burst = own ?? assumedBurst(limit)
  const admitted = answers.length - limited.length
  const most = mostAdmitted(limit, burst, elapsedMs)
  const isHonest = limited.every(({ headers }) => Number(headers.get('retry-after')) >= 1)
  const held = admitted <= most && isHonest
  if (!held) process.exitCode = EXIT.no
  const facts = {
    tenant,
    route,
    sent: answers.length,
    admitted,
    rate_limited: limited.length,
    other_errors: count(({ status, code }) => status >= 400 && code !== 'ERR_GW_RATE_LIMIT_LOCAL'),
    limit_per_minute: Number.isNaN(limit) ? null : limit,
    burst: Number.isNaN(burst) ? null : burst,
    burst_is: own === undefined ? 'assumed' : 'told',
    most_that_the_limit_admits: Number.isFinite(most) ? most : null,
    held,
  }
  const verdict = verdictOn({ held, most, isReached: limited.length > 0 })
  const print = () => {
    printTable(['FACT', 'VALUE'], Object.entries(facts))
    if (own === undefined)
      printLine(
        `assumed: a burst of ${facts.burst ?? 'a quarter of the limit'}, a quarter of the limit, at one gateway; ` +
          'give --admin, or -n and --gateway, to compare with what the gateway says.',
      )
    if (!isHonest) printLine('A refusal came without a Retry-After of at least a second.')
    printLine(verdict)
  }
  await printData(output, { value: facts, names: [tenant], print })
}

/** A limit that no request reached has held, too, but the test shows nothing about it. */
function verdictOn(found: {
  readonly held: boolean
  readonly most: number
  readonly isReached: boolean
}): string {
  const { held, most, isReached } = found
  if (!held) return `more was admitted than the limit allows (${most})`
  if (isReached || !Number.isFinite(most)) return 'the limit held'
  return `the limit held, but was not reached: it would admit ${most}; raise --rate or --duration`
}

/** The key of another tenant would test another limit. */
async function checkTenant(
  { key = '' }: Calling,
  tenant: string,
  gateways: AskedGateways | undefined,
) {
  if (gateways === undefined) return
  const { body } = await gateways[0].ask(`/explain?key_hash=${hash('sha256', key)}`)
  const verdict = Object(Object(body).key)
  if (verdict.status === 401) throw new Error(`The key was refused: ${verdict.why}.`)
  if (verdict.tenant !== tenant)
    throw new Error(`The key is of tenant "${verdict.tenant}", not of "${tenant}".`)
}

/** The tokens left in the bucket and those added since; one more for a request still running at the end. */
function mostAdmitted(limit: number, burst: number, elapsedMs: number): number {
  if (Number.isNaN(limit)) return Number.POSITIVE_INFINITY
  return Math.floor(burst + (limit * elapsedMs) / 60_000) + 1
}

/** Only a gateway's admin API knows the limit; a load balancer does not. */
async function burstOf(
  tenant: string,
  gateways: AskedGateways | undefined,
): Promise<number | undefined> {
  if (gateways === undefined) return undefined
  const { status, body } = await gateways[0].ask(`/limits/${encodeURIComponent(tenant)}`)
  const burst = status === 200 ? Object(Object(body).requests_per_minute).burst : undefined
  return typeof burst === 'number' ? burst : undefined
}

/** A quarter of the limit, the gateway's default. */
function assumedBurst(limit: number): number {
  return Math.max(1, Math.floor(limit / 4))
}

/** Each at its time, even if earlier requests have no answer yet. */
async function send(
  route: string,
  calling: Calling,
  { rate, duration }: { readonly rate: number; readonly duration: number },
): Promise<Called[]> {
  const total = Math.max(1, Math.round((rate * duration) / 60_000))
  const startedAt = performance.now()
  const under: Promise<Called>[] = []
  let toldAt = startedAt
  for (let index = 0; index < total; index++) {
    const due = startedAt + (index * 60_000) / rate
    const now = performance.now()
    if (due > now) await delay(due - now)
    if (performance.now() - toldAt >= TELL_EVERY_MS) {
      toldAt = performance.now()
      printRemark(`sent ${index} of ${total}`)
    }
    const answer = chat(route, calling)
    // Awaited at the end; until then a failure would have no handler.
    answer.catch(() => undefined)
    under.push(answer)
  }
  return await Promise.all(under)
}
