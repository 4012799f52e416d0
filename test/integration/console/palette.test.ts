/** The palette of the console: a place by its name, with the keyboard alone. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import type { ConsoleServer } from '../../../cli/console/server.ts'
import { openConsole, show, startBrowser } from '../../helpers/console/browser.ts'
import { startScriptedConsole } from '../../helpers/console/scripted-pods.ts'
import { until } from '../../helpers/until.ts'

let reported: ConsoleServer
let browser: Browser

before(async () => {
  ;[reported, browser] = await Promise.all([startScriptedConsole(), startBrowser()])
})

after(async () => {
  await browser?.close()
  await reported?.close()
})

const field = (page: Page) => page.getByRole('combobox', { name: /^Go to/ })
const options = (page: Page) => page.getByRole('listbox', { name: 'Places' }).getByRole('option')

async function opened(keys: string, fields: object = {}): Promise<Page> {
  const { page } = await openConsole(browser, reported.url, fields)
  await page.keyboard.press(keys)
  await field(page).waitFor()
  return page
}

for (const keys of ['Control+k', 'Meta+k']) {
  test(`${keys} opens the palette, and a view, tenant, route, upstream, key or request is found by its name`, async () => {
    const page = await opened(keys)
    for (const [typed, kind, place] of [
      ['conf', 'View', '#/configuration'],
      ['acme', 'Tenant', '#/tenants/acme'],
      ['chat', 'Route', '#/routing/chat'],
      ['gpt-4', 'Alias of chat', '#/routing/chat'],
      ['local', 'Upstream', '#/routing?q=local'],
      ['app', 'Key', '#/requests?q=app'],
      ['r-1', 'Request', '#/requests/one/r-1'],
      ['unknown-0815', 'Request', '#/requests/one/unknown-0815'],
    ] as const) {
      await field(page).fill(typed)
      const first = options(page).filter({ hasText: kind }).first()
      await first.waitFor()
      // Its first place is chosen; another one by arrows.
      while ((await first.getAttribute('aria-selected')) !== 'true')
        await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await until(`${typed} opens ${place}`, () => page.url().endsWith(place))
      assert.equal(await page.getByRole('dialog').count(), 0)
      await page.keyboard.press(keys)
      await field(page).waitFor()
      assert.equal(await field(page).inputValue(), '')
    }
    await page.context().close()
  })
}

test('the palette names the active option for a screen reader, wraps around, and Escape gives the focus back', async () => {
  const page = await opened('Control+k')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByLabel('Theme').focus()
  await page.keyboard.press('Control+k')
  await field(page).waitFor()
  assert.equal(await field(page).getAttribute('aria-expanded'), 'true')
  const active = async () => {
    const id = await field(page).getAttribute('aria-activedescendant')
    return await page.locator(`[id="${id}"]`).textContent()
  }
  assert.match((await active()) ?? '', /Overview/)
  await page.keyboard.press('ArrowUp')
  assert.match((await active()) ?? '', /Configuration/)
  await page.keyboard.press('ArrowDown')
  assert.match((await active()) ?? '', /Overview/)
  await page.keyboard.press('Escape')
  await until('the focus is back', async () =>
    Boolean(await page.evaluate(`document.activeElement.id === 'theme'`)),
  )
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.context().close()
})

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [390, 1280]) {
    test(`axe finds no fault in the palette, ${colorScheme}, at ${width} pixels`, async () => {
      const viewport = { width, height: 844 }
      const page = await opened('Control+k', { viewport, colorScheme, bypassCSP: true })
      await page.evaluate(axe.source)
      for (const typed of ['', 'a']) {
        await field(page).fill(typed)
        await options(page).first().waitFor()
        const found = await page.evaluate(
          `axe.run(document, {}).then(({ violations }) => violations.map(({ id }) => id))`,
        )
        assert.deepEqual(found, [])
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
      }
      await page.context().close()
    })
  }
}

test('samples that arrive leave the typed text and the choice as they are', async () => {
  const page = await opened('Control+k')
  await show(page, 'overview')
  await page.keyboard.type('a')
  await page.keyboard.press('ArrowDown')
  const chosen = page.locator('[role=option][aria-selected=true]')
  const before = await chosen.textContent()
  const tile = page.locator('.tile').first()
  await until('samples have arrived', async () => /4 \/s/.test((await tile.textContent()) ?? ''))
  assert.equal(await chosen.textContent(), before)
  assert.equal(await field(page).inputValue(), 'a')
  await page.context().close()
})
