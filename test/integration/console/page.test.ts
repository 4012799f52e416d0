/** The console's views in a real browser, for a gateway with load, failures and hostile texts. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import * as browsing from '../../helpers/console/browser.ts'
import { type BusyGateway, SECRET, startBusyGateway } from '../../helpers/console/busy-gateway.ts'
import { until } from '../../helpers/until.ts'

const VIEWS = ['overview', 'routing', 'tenants', 'usage', 'requests', 'configuration']
const PAGE_BYTES_MAX = 153_600

let busy: BusyGateway
let browser: Browser
let watched: browsing.Watched
let page: Page

before(async () => {
  ;[busy, browser] = await Promise.all([startBusyGateway(), browsing.startBrowser()])
  await busy.round()
  busy.keepBusy()
  watched = await browsing.openConsole(browser, busy.consoleUrl, {
    viewport: { width: 1280, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  page = watched.page
})

after(async () => {
  await browser?.close()
  await busy?.stop()
})

const show = (address: string) => browsing.show(page, address)
const row = (table: RegExp, text: RegExp | string) => browsing.row(page, table, text)

test('the page is smaller than 150 KiB on the wire, and loads nothing from other origins', async () => {
  const files = [...watched.bytes].filter(([path]) => /^\/console\/(?!events)/.test(path))
  assert.ok(files.length > 15, String(files.length))
  const bytes = files.reduce((sum, [, size]) => sum + size, 0)
  assert.ok(bytes < PAGE_BYTES_MAX, `${bytes} bytes`)
  assert.doesNotMatch(page.url(), /token/)
})

test('the overview shows what is broken and since when, who spends what, and what changed', async () => {
  await show('overview')
  await row(/to look at/, /The breaker of upstream flaky is open: .*ago/)
  await row(/to look at/, /Route quick misses its objective/)
  await row(/to look at/, 'Tenant support: daily token budget used up, resets in')
  await row(/^Last 24 h/, /^search\t\$[\d.]+\t[\d.]+ %\t\d.* of USD a month, group product/)
  await row(/^Last 24 h/, /^support\t.*100\.0 % of tokens a day/)
  await row(/^Events of 1 h/, 'The breaker of upstream "flaky" is open.')
  const rate = page.locator('.tile', { hasText: 'Requests' }).locator('dd').first()
  await until(
    'there is a rate',
    async () => Number.parseFloat((await rate.textContent()) ?? '') > 0,
  )
  await page
    .getByRole('img', {
      name: /^Requests\/s: all [\d.]+, errors [\d.]+, refused by limits [\d.]+$/,
    })
    .waitFor()
  await page.getByRole('img', { name: /^Time to first token: p50 \d+ m?s/ }).waitFor()
  await page.getByRole('link', { name: /breaker of upstream flaky/ }).click()
  await page.getByRole('table', { name: '1 upstream' }).waitFor()
})

test('routing shows state, health, breaker, queue, rates and endpoints, and why an upstream is skipped', async () => {
  await show('routing/careful')
  await row(/4 upstreams/, /^flaky.*skipped.*open \d+ s more.*overloaded 503/)
  await row(/4 upstreams/, /^llama-a.*eligible.*healthy.*closed.*100\.0 %/)
  await row(/2 endpoints/, /^pool\t127\.0\.0\.2:\d+\t● ready\t\d+\t\d+/)
  await row(/2 endpoints/, /^pool\t127\.0\.0\.3:\d+\t● ready/)
  await row(/4 routes/, /flaky: breaker open.*upstream_error/)
  await row(/4 routes/, /gpt-4o/)
  await page.getByText('200 from llama-b').waitFor()
})

test('tenants show budgets of tenants, groups and keys with a forecast, limits, and when keys were last used', async () => {
  await show('tenants/research')
  await row(/6 budgets/, /^tenant support\ttokens a day\t50\t0\t50\t■ 100\.0 %\tused up\tin /)
  await row(/6 budgets/, /^tenant search\tUSD a month\t\$[\d.]+\t\$[\d.]+\t\$5\.00\t/)
  // A budget that the file gives to each tenant.
  await row(/6 budgets/, /^tenant research\ttokens a day\t[\d,]+\t\d+\t2M\t/)
  await row(/6 budgets/, /^group product\tUSD a month\t.* (by the end|in \d+ .)/)
  await row(/6 budgets/, /^key research-app\tUSD a month\t.*\$20\.00/)
  await row(/3 of 3 tenants/, /^research\t.*rpm \d+\t\d of 5, 30 a minute\t\d of 2\t/)
  await row(/1 key/, /^research-app\t● active\tgw_live_research…\t.*(now|s ago)\t\d+\t\$/)
  await page.getByRole('link', { name: 'research-app' }).click()
  await row(/that ended/, /research\tresearch-app/)
  assert.match(page.url(), /#\/requests\?q=research-app$/)
})

test('usage shows tokens and cost over time by the chosen dimension, and links to tenants and requests', async () => {
  await show('usage/tenant/24%20h')
  await row(/UTC/, /^search\t\d+\t\d+\t.*\$.*%/)
  await page.getByRole('img', { name: /^Cost by hour, UTC: \$/ }).waitFor()
  await page.getByRole('link', { name: 'model', exact: true }).click()
  await row(/UTC/, 'served')
  assert.match(page.url(), /#\/usage\/model\/24%20h$/)
  await show('usage/upstream/7%20d')
  await page.getByRole('link', { name: 'llama-b' }).click()
  await row(/that ended/, /llama-b/)
  await page.getByRole('table').getByRole('link').last().click()
  await page.getByRole('heading', { level: 2, name: /^Request / }).waitFor()
})

test('running requests appear before they end', async () => {
  const long = busy.askLong()
  await long.head
  await show('requests')
  const running = page.getByRole('table', { name: /in flight, the oldest first/ })
  const { headers } = await long.head
  await running.getByRole('link', { name: String(headers['x-request-id']) }).click()
  await page.getByText('not complete yet').waitFor()
  long.leave()
  await page
    .getByText(/499 ERR_GW_STREAM_ABORTED/)
    .first()
    .waitFor()
})

test('charts have the history of the gateway at once, with events as marks, and another time with one click', async () => {
  const fresh = await browsing.openConsole(browser, busy.consoleUrl)
  const line = fresh.page.locator('path.line0').first()
  await until('there is a line', async () => ((await line.getAttribute('d')) ?? '').length > 0)
  await fresh.page.locator('.mark title').first().waitFor({ state: 'attached' })
  await fresh.page.getByRole('link', { name: '7 d', exact: true }).click()
  await fresh.page.getByRole('link', { name: 'week before' }).click()
  await fresh.page.getByRole('table', { name: /^Events of 7 d/ }).waitFor()
  assert.match(fresh.page.url(), /#\/overview\/7%20d\/week%20before$/)
  await fresh.page.getByRole('link', { name: 'live', exact: true }).click()
  await fresh.page.getByRole('table', { name: /^The last changes/ }).waitFor()
  assert.equal(await fresh.page.getByRole('navigation', { name: 'Compare with' }).count(), 0)
  assert.deepEqual(fresh.complaints, [])
  await fresh.page.context().close()
})

test('refusals by limits and budgets are no errors', async () => {
  const { routes } = await busy.front.admin('/activity')
  const chat = routes.find(({ name }: { name: string }) => name === 'chat')
  // The tenant support has used up its budget, and research exceeds its rate.
  assert.ok(chat.refused > 0, JSON.stringify(chat))
  assert.equal(chat.errors, chat.refused + chat.client_errors)
})

test('requests can be chosen by status and tenant, and name their models', async () => {
  await show('requests')
  await page.getByRole('combobox', { name: /^Status/ }).selectOption('402')
  await page.getByRole('combobox', { name: /^Tenant/ }).selectOption('support')
  await row(/that ended/, /402 ERR_GW_BUDGET_EXCEEDED\tsupport\tsupport-app/)
  assert.match(page.url(), /#\/requests\?status=402&tenant=support$/)
  await show('requests?tenant=search&status=200')
  await row(/that ended/, /chat\tllama-[ab]\t/)
})

test('requests appear live, can be filtered, and open as a tree with a link', async () => {
  await show('requests/errors')
  await row(/requests that ended/, 'ERR_GW_BUDGET_EXCEEDED')
  await page.getByRole('searchbox').fill('nothing-like-this')
  await page.getByText('No request like this is kept.').waitFor()
  assert.match(page.url(), /#\/requests\/errors\?q=nothing-like-this$/)
  await page.getByRole('searchbox').fill('')
  await show('requests/retried')
  await row(/that ended/, 'after 2 attempts')
  await page
    .getByRole('table', { name: /that ended/ })
    .getByRole('link')
    .first()
    .click()
  const tree = (await page.locator('.tree.card').textContent()) ?? ''
  assert.match(
    tree,
    /Tenant: search.*Route: careful → careful.*2 attempts.*flaky: .*503.*llama-b: ok.*Tokens: .*Ids: /s,
  )
  await page
    .getByRole('img', { name: /^flaky: .*from \d+ ms to \d+ ms/ })
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Copy link' }).click()
  const copied = String(await page.evaluate('navigator.clipboard.readText()'))
  assert.equal(copied, page.url())
  // Another tab has no token, and gets it from the first tab.
  const other = await page.context().newPage()
  await other.goto(copied)
  await other.getByRole('heading', { level: 2, name: /^Request / }).waitFor()
  await other.close()
})

test('the configuration view shows what the process enforces, and its document without secrets', async () => {
  await show('configuration')
  const { config } = await busy.front.admin('/status')
  await row(/1 process/, config.hash.slice(0, 12))
  await row(/asked beside the models/, /^pii\tguardrail of the input\tbreaker ● closed/)
  await page.getByRole('searchbox').fill('api_key"')
  await page.getByText('${env:UPSTREAM_KEY}').first().waitFor()
  await page.getByRole('searchbox').fill('')
})

test('no view contains a secret, and the browser reports no error', async () => {
  for (const view of VIEWS) {
    await show(view)
    await page.getByRole('table').first().waitFor()
    const html = await page.content()
    for (const secret of [SECRET, busy.token, busy.front.key])
      assert.ok(!html.includes(secret), view)
  }
  assert.deepEqual(watched.complaints, [])
})
