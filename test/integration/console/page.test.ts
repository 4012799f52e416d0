/** The console in a real browser, before a gateway with load, failures and hostile texts. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { startBrowser, type Watched, watchedPage } from '../../helpers/console/browser.ts'
import {
  type BusyGateway,
  HOSTILE,
  SECRET,
  startBusyGateway,
} from '../../helpers/console/busy-gateway.ts'
import { until } from '../../helpers/until.ts'

const VIEWS = {
  overview: 'Overview',
  routing: 'Routes and upstreams',
  tenants: 'Tenants',
  usage: 'Usage',
  requests: 'Requests',
  configuration: 'Configuration',
}
const PAGE_BYTES_MAX = 102_400

/** These run in the page, which has other types than a test. */
const AXE_RUN = {
  light: 'axe.run(document, {})',
  // The dark differs in its colours alone.
  dark: `axe.run(document, { runOnly: ['color-contrast'] })`,
}
const VIOLATIONS = `(({ violations }) =>
  violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))]))`
const INTRUSION = `async (admin) => {
  const arrived = (promise) => promise.then(() => true, () => false)
  const loaded = (name, path) => new Promise((resolve) => {
    const element = document.createElement(name)
    element.onload = () => resolve(true)
    element.onerror = () => resolve(false)
    element.src = admin + path
    document.body.append(element)
  })
  return {
    status: await arrived(fetch(admin + '/status')),
    page: await arrived(fetch(admin + '/console/')),
    stream: await arrived(fetch(admin + '/console/events')),
    blind: await arrived(fetch(admin + '/status', { mode: 'no-cors' })),
    script: await loaded('script', '/console/main.js'),
    image: await loaded('img', '/console/icon.svg'),
  }
}`

let busy: BusyGateway
let browser: Browser
let watched: Watched
let page: Page
let origin: string
let token: string

before(async () => {
  ;[busy, browser] = await Promise.all([startBusyGateway(), startBrowser()])
  const { adminUrl, adminHeaders } = busy.front.process
  origin = adminUrl
  token = String(adminHeaders.authorization).replace('Bearer ', '')
  await busy.round()
  busy.keepBusy()
  watched = await opened({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' })
  page = watched.page
})

after(async () => {
  await browser?.close()
  await busy?.stop()
})

async function opened(options: BrowserContextOptions): Promise<Watched> {
  const one = await watchedPage(await browser.newContext(options), origin)
  await one.page.goto(`${origin}/console/#token=${token}`)
  await one.page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
  return one
}

/** Without a load: the page follows its address. */
async function show(address: string, on = page): Promise<void> {
  await on.evaluate(`location.hash = '#/${address}'`)
}

/** Waits until a row of the table says it; there is a tab between cells. */
async function row(table: RegExp, text: RegExp | string): Promise<void> {
  const rows = page.getByRole('table', { name: table }).getByRole('row')
  const says = (line: string) => (typeof text === 'string' ? line.includes(text) : text.test(line))
  let lines: readonly string[] = []
  try {
    await until(`a row says ${text}`, async () => {
      lines = await rows.allInnerTexts()
      return lines.some(says)
    })
  } catch (cause) {
    throw new Error(`No row says ${text}:\n${lines.join('\n')}`, { cause })
  }
}

test('the page takes less than 100 KiB over the wire, and asks for nothing from elsewhere', async () => {
  const files = [...watched.bytes].filter(([path]) => /^\/console\/(?!events)/.test(path))
  assert.ok(files.length > 15, String(files.length))
  const bytes = files.reduce((sum, [, size]) => sum + size, 0)
  assert.ok(bytes < PAGE_BYTES_MAX, `${bytes} bytes`)
  assert.doesNotMatch(page.url(), /token/)
})

test('the overview shows rates, what needs attention since when, and the last changes', async () => {
  await show('overview')
  await row(/to look at/, /The breaker of upstream flaky is open: .*ago/s)
  await row(/to look at/, /Route quick misses its objective/)
  await row(/to look at/, 'Tenant support has reached tokens_per_day')
  await row(/last ten changes/, 'The breaker of upstream "flaky" is open.')
  const rate = page.locator('.tile', { hasText: 'Requests/s' }).locator('dd').first()
  await until('there is a rate', async () => Number(await rate.textContent()) > 0)
  await page.getByRole('img', { name: /^Requests\/s: answered [\d.]+, errors [\d.]+$/ }).waitFor()
  await page.getByRole('img', { name: /^Time to first token: p50 \d+ m?s/ }).waitFor()
})

test('routes and upstreams show state, health, breaker, rates, and why one is passed over', async () => {
  await show('routing/careful')
  await row(/3 upstreams/, /passed over.*open \d+ s more.*overloaded 503/s)
  await row(/3 upstreams/, /eligible.*healthy.*closed.*100\.0 %/s)
  await row(/3 routes/, /flaky: breaker open.*upstream_error/s)
  await row(/3 routes/, /gpt-4o/)
  await page.getByText('200 from llama-b').waitFor()
})

test('tenants show each limit with what is left, refusals by reason, a forecast and keys', async () => {
  await show('tenants/search')
  await row(/3 of 3 tenants/, /tokens per day: \d+ used of 1000000/)
  await row(/3 of 3 tenants/, /50 used of 50, 0 left.*spent; it begins anew in/s)
  await row(/3 of 3 tenants/, /rpm \d+/)
  await row(/1 keys/, /search.*active/s)
})

test('usage shows tokens and cost by what is chosen, as the admin API counts them', async () => {
  await show('usage/tenant/24%20h')
  await row(/UTC/, /search\t\d+\t0\t.*\$/s)
  await page.getByRole('link', { name: 'model', exact: true }).click()
  await row(/UTC/, 'served')
  assert.match(page.url(), /#\/usage\/model\/24%20h$/)
})

test('requests come by themselves, are narrowed, and one opens as a tree', async () => {
  await show('requests/errors')
  await row(/requests that ended/, 'ERR_GW_BUDGET_EXCEEDED')
  await page.getByRole('searchbox').fill('upstream')
  await page.getByText('No request like this is kept.').waitFor()
  await page.getByRole('searchbox').fill('')
  await show('requests/retried')
  const first = page.getByRole('table').getByRole('link').first()
  await first.click()
  const tree = (await page.locator('.tree.card').textContent()) ?? ''
  assert.match(
    tree,
    /Tenant: search.*Route: careful → careful.*2 attempts.*flaky: .*503.*llama-b: ok.*Tokens: .*Ids: /s,
  )
  await page
    .getByRole('img', { name: /^flaky: .*from \d+ ms to \d+ ms/ })
    .first()
    .waitFor()
})

test('the configuration shows what the process enforces, and its document without secrets', async () => {
  await show('configuration')
  const { config } = await busy.front.admin('/status')
  await row(/same configuration/, config.hash.slice(0, 12))
  await page.getByRole('searchbox').fill('api_key"')
  await page.getByText('${env:UPSTREAM_KEY}').first().waitFor()
  await page.getByRole('searchbox').fill('')
})

test('no view has a secret, and a hostile text is a text', async () => {
  for (const view of Object.keys(VIEWS)) {
    await show(view)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const html = await page.content()
    for (const secret of [SECRET, token, busy.front.key]) assert.ok(!html.includes(secret), view)
  }
  await show('requests/errors')
  await row(/requests that ended/, 'ERR_GW_ROUTE_NOT_FOUND')
  await page
    .getByRole('row', { name: /ROUTE_NOT_FOUND/ })
    .getByRole('link')
    .first()
    .click()
  await page.getByText(`${HOSTILE} → none`).waitFor()
  assert.equal(await page.locator('img[src=x]').count(), 0)
  assert.deepEqual(watched.complaints, [])
})

test('the keyboard alone opens every view, finds the filter and reads a request', async () => {
  await page.keyboard.press('Escape')
  for (const [index, title] of Object.values(VIEWS).entries()) {
    await page.keyboard.press(String(index + 1))
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
    assert.equal(await page.locator('nav [aria-current=page]').textContent(), title)
  }
  await page.keyboard.press('3')
  await page.getByRole('heading', { level: 1, name: 'Tenants' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('sup')
  await page.getByRole('table', { name: /1 of 1 tenants/ }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('5')
  await page.getByRole('table', { name: /requests that ended/ }).waitFor()
  await page.keyboard.press('p')
  await page.getByRole('status').filter({ hasText: 'Paused' }).waitFor()
  const focused = () => page.evaluate(`document.activeElement?.getAttribute('href')`)
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press('Tab')
    if (String(await focused()).startsWith('#/requests/one/')) break
  }
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 2, name: /^Request / }).waitFor()
  await page.keyboard.press('p')
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`nothing stands in the way of a person with other senses, ${colorScheme}, at 390 pixels`, async () => {
    const options = { viewport: { width: 390, height: 844 }, colorScheme, bypassCSP: true }
    const { page: narrow, complaints } = await opened(options)
    await narrow.evaluate(axe.source)
    for (const view of [...Object.keys(VIEWS), 'routing/careful']) {
      await show(view, narrow)
      await narrow.getByRole('table').first().waitFor()
      const found = await narrow.evaluate(`${AXE_RUN[colorScheme]}.then(${VIOLATIONS})`)
      assert.deepEqual(found, [], view)
      const width = await narrow.evaluate('document.documentElement.scrollWidth')
      assert.equal(width, 390, view)
    }
    assert.deepEqual(complaints, [])
    await narrow.context().close()
  })
}

test('colours follow the system, and a choice wins and stays', async () => {
  const back = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  const light = await back()
  await page.getByLabel('Colours').selectOption('dark')
  const dark = await back()
  assert.notEqual(dark, light)
  await page.reload()
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
  assert.equal(await back(), dark)
  await page.getByLabel('Colours').selectOption('auto')
  assert.equal(await back(), light)
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.equal(await back(), dark)
})

test('a gateway that falls silent is reported, comes back, and leaves a gap and no zero', async () => {
  await show('overview')
  const path = page.locator('path.line0').first()
  const steps = async () => (await path.getAttribute('d')) ?? ''
  await until('there is a line', async () => (await steps()).includes('L'))
  busy.front.process.signal('SIGSTOP')
  await page.getByRole('status').filter({ hasText: 'Connection lost' }).waitFor()
  busy.front.process.signal('SIGCONT')
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor()
  await until('the line goes on behind a gap', async () => /L[^M]*M[^M]*L/.test(await steps()))
})

test('a page of another origin gets no data, no stream and no script', async (t) => {
  const server = createServer((_incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>other</p>')
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const other = await browser.newPage()
  await other.goto(`http://127.0.0.1:${port}/`)
  const got = await other.evaluate(`(${INTRUSION})(${JSON.stringify(origin)})`)
  assert.deepEqual(got, {
    status: false,
    page: false,
    stream: false,
    blind: false,
    script: false,
    image: false,
  })
  await other.close()
})
