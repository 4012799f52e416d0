/** A day of a gateway, read in the console while it happens: a new team, its first call, a 429, a 402, an outage, the bill. */
import { readFile, writeFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { parse, stringify } from 'yaml'
import { aKey } from '../a-key.ts'
import { NOON } from '../clock.ts'
import { type Front, failing, startFront, startUpstream, whole } from '../fake-upstream.ts'
import { until } from '../until.ts'
import { aheadOf, clockAhead } from '../wall-clock.ts'
import { openConsole, row, show } from './browser.ts'

type Fields = Readonly<Record<string, unknown>>

/** USD per million tokens; each answer of the fakes has 7 and 3. */
const PRICE = { input: 250, output: 1000 }
const CALL_USD = (7 * PRICE.input + 3 * PRICE.output) / 1e6

/** It is noon, so that forecasts stay the same. `seen` is called at each hour of the day, with the page. */
export async function walkDay(
  browser: Browser,
  seen: (hour: string, page: Page) => Promise<void>,
): Promise<void> {
  const [primary, spare] = await Promise.all([startUpstream(), startUpstream()])
  const search = aKey({ id: 'search-app', tenant: 'search', prefix: 'gw_live_search' })
  const team = aKey({ id: 'billing-bot', tenant: 'billing', prefix: 'gw_live_billing' })
  const aheadMs = aheadOf(NOON)
  const front = await startFront(
    {
      api_keys: [search.record],
      upstreams: [
        {
          ...{ name: 'llama-a', endpoint: primary.url },
          circuit_breaker: { failure_threshold: 2, open_duration_seconds: 5 },
        },
        { name: 'llama-b', endpoint: spare.url },
      ],
      routes: [
        {
          ...{ name: 'chat', strategy: 'primary_with_fallback', primary: 'llama-a' },
          ...{ fallback: ['llama-b'], retry: { max_attempts: 2 } },
        },
      ],
      pricing: { models: [{ model: 'served', ...PRICE }] },
    },
    { env: clockAhead(aheadMs) },
  )
  const { adminUrl, adminHeaders } = front.process
  const token = String(adminHeaders.authorization).replace('Bearer ', '')
  const view = { viewport: { width: 1280, height: 860 }, colorScheme: 'light' } as const
  const address = `${adminUrl}/console/#token=${token}`
  const { page } = await openConsole(browser, address, view, aheadMs)
  const day = new Day(front, page, seen)
  try {
    await day.morning(search.key)
    await day.newTeam(team.record)
    await day.firstCall(team.key)
    await day.tooMany(team.key)
    await day.spent(team.key)
    primary.reply = failing(503, { message: 'out of memory' })
    await day.outage(search.key)
    primary.reply = whole()
    await day.recovery(search.key)
    await day.bill()
  } finally {
    await page.context().close()
    await front.process.stop()
    await Promise.all([primary.close(), spare.close()])
  }
}

class Day {
  readonly #front: Front
  readonly #page: Page
  readonly #seen: (hour: string, page: Page) => Promise<void>
  #billed = 0

  constructor(front: Front, page: Page, seen: (hour: string, page: Page) => Promise<void>) {
    this.#front = front
    this.#page = page
    this.#seen = seen
  }

  async morning(key: string): Promise<void> {
    await this.#call(key)
    await this.#row(/Nothing needs attention/, 'are as they should be')
    await this.#row(/^Last 24 h/, /^search\t/)
    await this.#seen('1-morning', this.#page)
  }

  /** The page is read-only: the file adds the team. */
  async newTeam(record: Fields): Promise<void> {
    await this.#change((gw) => ({
      ...gw,
      api_keys: [...(gw.api_keys as Fields[]), record],
      rate_limits: limitsWith(gw, { requests_per_minute: 1, burst: 3 }),
      budgets: [{ tenant: 'billing', tokens_per_day: 60 }],
    }))
    await this.#show('overview')
    await this.#row(/^Events of 1 h/, 'config reload')
    await this.#show('tenants/billing')
    await this.#row(/1 budget/, /^tenant billing\ttokens a day\t0\t0\t60\t/)
    await this.#row(/1 key/, /^billing-bot\t● active\tgw_live_billing….*not in 31 d/)
    await this.#seen('2-new-team', this.#page)
  }

  async firstCall(key: string): Promise<void> {
    await this.#paid(key)
    await this.#row(/1 key/, /^billing-bot\t.*(now|s ago)\t1\t\$0\.0047/)
    await this.#row(/1 budget/, /^tenant billing\ttokens a day\t10\t0\t60\t● 16\.7 %/)
    await this.#seen('3-first-call', this.#page)
  }

  async tooMany(key: string): Promise<void> {
    // A slow page gives the tenant time for one more call: it is billed like the others.
    await until('a request is too many', async () => (await this.#paid(key)) === 429)
    await this.#row(/tenants$/, /^billing\t.*rpm \d+\t0 of 3, 1 a minute/)
    await this.#show('requests/errors?q=billing')
    await this.#row(/that ended/, /429 ERR_GW_RATE_LIMIT_LOCAL\tbilling\tbilling-bot/)
    await this.#seen('4-too-many', this.#page)
  }

  /** The team gets a higher rate, and soon has spent its tokens. */
  async spent(key: string): Promise<void> {
    await this.#change((gw) => ({
      ...gw,
      rate_limits: limitsWith(gw, { requests_per_minute: 600, burst: 600 }),
    }))
    await until('the budget is spent', async () => (await this.#paid(key)) === 402)
    await this.#show('overview')
    await this.#row(/to look at/, 'Tenant billing: daily token budget used up, resets in')
    await this.#row(/^Last 24 h/, /^billing\t.*100\.0 % of tokens a day/)
    await this.#seen('5-spent', this.#page)
  }

  async outage(key: string): Promise<void> {
    const breaker = this.#page.getByText(
      /^The breaker of upstream llama-a is open: .*out of memory/,
    )
    await until('the breaker is open on the page', async () => {
      await this.#call(key)
      return await breaker.isVisible()
    })
    await this.#seen('6-outage', this.#page)
    await this.#show('requests/retried')
    await this.#row(/that ended/, /200 after 2 attempts\tsearch/)
    await this.#page
      .getByRole('table', { name: /that ended/ })
      .getByRole('link')
      .first()
      .click()
    await this.#page.getByText('503', { exact: false }).first().waitFor()
    await this.#seen('7-one-request', this.#page)
  }

  async recovery(key: string): Promise<void> {
    await this.#show('overview')
    const changed = this.#page
      .getByRole('table', { name: /^Events of 1 h/ })
      .getByText('The breaker of upstream "llama-a" is closed.')
    await until('the breaker is closed on the page', async () => {
      await this.#call(key)
      return await changed.first().isVisible()
    })
    await this.#row(/1 to look at/, 'Tenant billing')
    await this.#seen('8-recovery', this.#page)
  }

  async bill(): Promise<void> {
    await this.#show('usage/key/24%20h')
    const cost = `$${(this.#billed * CALL_USD).toFixed(4)}`
    const line = `billing-bot\t${this.#billed}\t0\t${this.#billed * 7}\t0\t${this.#billed * 3}\t0\t0\t${cost}\t`
    await this.#row(/UTC/, line)
    await this.#seen('9-bill', this.#page)
  }

  async #call(key: string): Promise<void> {
    const status = await this.#status(key)
    if (status !== 200) throw new Error(`The call was answered with ${status}.`)
  }

  /** A call of the new team; the bill includes it if it is answered. */
  async #paid(key: string): Promise<number> {
    const status = await this.#status(key)
    if (status === 200) this.#billed++
    return status
  }

  async #status(key: string): Promise<number> {
    return (await this.#front.ask({}, { authorization: `Bearer ${key}` }).over).status
  }

  async #change(edit: (gw: Fields) => Fields): Promise<void> {
    const { configFile } = this.#front.process
    const { config } = await this.#front.admin('/status')
    const document = parse(await readFile(configFile, 'utf8'))
    await writeFile(configFile, stringify({ ...document, gw: edit(document.gw) }))
    this.#front.process.signal('SIGHUP')
    await until('the file is in force', async () => {
      const status = await this.#front.admin('/status')
      return status.config.hash !== config.hash
    })
  }

  async #show(address: string): Promise<void> {
    await show(this.#page, address)
  }

  async #row(table: RegExp, text: RegExp | string): Promise<void> {
    await row(this.#page, table, text)
  }
}

/** The limits of all others stay. */
function limitsWith({ rate_limits }: Fields, rate: Fields): Fields {
  return { ...(rate_limits as Fields), tenants: [{ tenant: 'billing', ...rate }] }
}
