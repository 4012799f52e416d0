/** The console for keyboards and screen readers, in both colour schemes and on a phone. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { ConsoleServer } from '../../../cli/console/server.ts'
import { openConsole, row, saysStatus, show, startBrowser } from '../../helpers/console/browser.ts'
import { startScriptedConsole } from '../../helpers/console/scripted-pods.ts'
import { until } from '../../helpers/until.ts'

const VIEWS = {
  overview: 'Overview',
  routing: 'Routes and upstreams',
  tenants: 'Tenants, limits and budgets',
  usage: 'Usage',
  requests: 'Requests',
  configuration: 'Configuration',
}
/** Includes the content that opens in them. */
const PLACES = [...Object.keys(VIEWS), 'routing/chat', 'usage/hour/24%20h', 'requests/one/r-1']
const GOLDEN = join(import.meta.dirname, '../../fixtures/console')

/** These functions run in the page, whose types differ from those of a test. */
const AXE_RUN = 'axe.run(document, {})'
const VIOLATIONS = `(({ violations }) =>
  violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))]))`
const WIDER = `[...document.querySelectorAll('.scroll')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((one) => one.getAttribute('aria-label'))`
const FOCUSABLE = `[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
  .filter((one) => one.checkVisibility()).length`

let reported: ConsoleServer
let browser: Browser

before(async () => {
  ;[reported, browser] = await Promise.all([startScriptedConsole(), startBrowser()])
})

after(async () => {
  await browser?.close()
  await reported?.close()
})

/** A view that has its answers. */
async function complete(page: Page, place: string): Promise<void> {
  await show(page, place)
  await page
    .locator(place.includes('/one/') ? '.tree' : 'tbody th:visible')
    .first()
    .waitFor()
  await until('no request is open', async () => {
    const text = (await page.locator('main').textContent()) ?? ''
    return !text.includes('Asking')
  })
}

async function opened(options: BrowserContextOptions): Promise<Page> {
  return (await openConsole(browser, reported.url, options)).page
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [390, 1280]) {
    test(`axe finds no fault in any view, ${colorScheme}, at ${width} pixels, and nothing is cut off`, async () => {
      const page = await opened({ viewport: { width, height: 844 }, colorScheme, bypassCSP: true })
      await page.evaluate(axe.source)
      for (const place of PLACES) {
        await complete(page, place)
        assert.deepEqual(await page.evaluate(`${AXE_RUN}.then(${VIOLATIONS})`), [], place)
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, place)
        if (width === 390) assert.deepEqual(await page.evaluate(WIDER), [], place)
      }
      await page.context().close()
    })
  }
}

test('a screen reader gets the agreed text of each view', async () => {
  const page = await opened({ viewport: { width: 1280, height: 900 }, timezoneId: 'UTC' })
  await row(page, /to look at/, 'Route chat misses')
  await until('there are rates', async () =>
    ((await page.locator('.tile').first().textContent()) ?? '').includes('4 /s'),
  )
  for (const place of PLACES) {
    await complete(page, place)
    const file = join(GOLDEN, `${place.replaceAll(/\W+/g, '-')}.txt`)
    const wanted = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const read = async () => steady(await page.locator('main').ariaSnapshot())
    // GW_WRITE=1 records the agreed texts.
    if (process.env.GW_WRITE === '1') writeFileSync(file, await read())
    else
      await until(`${place} reads as agreed`, async () => (await read()) === wanted).catch(
        async () => assert.equal(await read(), wanted, place),
      )
  }
  await page.context().close()
})

/**
 * Without current times and without texts in charts: a reader gets the chart's name, and its axis
 * changes with the time.
 */
function steady(text: string): string {
  const [today = ''] = new Date().toISOString().split('T')
  return `${text
    .replaceAll(/^( *- '?img ".*"'?): .*$/gm, '$1')
    .replaceAll(/\b\d\d:\d\d(:\d\d)?\b/g, 'TIME')
    .replaceAll(/\d{1,2} \w{3} \d{4}, TIME UTC/g, 'MOMENT')
    .replaceAll(today, 'TODAY')
    .replaceAll(today.slice(5), 'TODAY')
    .replaceAll(/TODAY TIME|TODAYT\d\d/g, 'HOUR')
    .replaceAll(/\b(\d+ (s|min|h|d) ago|now)\b/g, 'AGO')
    .replaceAll(/\bin \d+ (s|min|h|d)\b/g, 'SOON')
    .replaceAll(/~?\$[\d.,]+K? a day/g, 'PACE a day')
    .replaceAll(/used up SOON|[\d.,]+ by the end/g, 'FORECAST')}\n`
}

test('the keyboard alone opens every view, focuses the filter and reads a request', async () => {
  const page = await opened({ viewport: { width: 1280, height: 900 } })
  for (const [index, title] of Object.values(VIEWS).entries()) {
    await page.keyboard.press(String(index + 1))
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
    const [word] = title.split(/,| /)
    const current = String(await page.locator('header [aria-current=page]').textContent())
    assert.equal(current, word === 'Routes' ? 'Routing' : word)
  }
  await page.keyboard.press('3')
  await page.getByRole('heading', { level: 1, name: VIEWS.tenants }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('acm')
  await until('the filter is in the address', () => page.url().endsWith('#/tenants?q=acm'))
  await page.keyboard.press('Escape')
  await page.keyboard.press('5')
  await page.getByRole('table', { name: /that ended/ }).waitFor()
  await page.keyboard.press('p')
  await saysStatus(page, 'Paused')
  await page.keyboard.press('p')
  await saysStatus(page, 'Live')
  await tabTo(page, '#/requests/one/r-1')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 2, name: /^Request r-1/ }).waitFor()
  await page.context().close()
})

test('the keyboard reaches every control in every view', async () => {
  const page = await opened({ viewport: { width: 1280, height: 900 } })
  for (const place of PLACES) {
    await complete(page, place)
    const all = Number(await page.evaluate(FOCUSABLE))
    await page.evaluate('document.activeElement.blur(); window.reached = new Set()')
    for (let presses = 0; presses <= all; presses++) {
      await page.keyboard.press('Tab')
      // After the last one, focus goes to the browser itself.
      const isSeen = await page.evaluate(
        `reached.add(document.activeElement); document.activeElement.matches('body, :focus-visible')`,
      )
      assert.ok(isSeen, place)
    }
    const reached = Number(await page.evaluate('reached.delete(document.body); reached.size'))
    assert.ok(reached >= all, `${place}: ${reached} of ${all}`)
  }
  await page.context().close()
})

async function tabTo(page: Page, href: string): Promise<void> {
  const focused = () => page.evaluate(`document.activeElement?.getAttribute('href')`)
  await until(`the keyboard reaches ${href}`, async () => {
    await page.keyboard.press('Tab')
    return (await focused()) === href
  })
}

test('colours follow the system, and a chosen scheme wins and is kept', async () => {
  const page = await opened({ colorScheme: 'light' })
  const back = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  const light = await back()
  await page.getByLabel('Theme').selectOption('dark')
  const dark = await back()
  assert.notEqual(dark, light)
  await page.reload()
  await saysStatus(page, 'Live')
  assert.equal(await back(), dark)
  await page.getByLabel('Theme').selectOption('auto')
  assert.equal(await back(), light)
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.equal(await back(), dark)
  await page.context().close()
})
