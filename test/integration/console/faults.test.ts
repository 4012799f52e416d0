/** The console when the code of the page itself fails: it names what failed, and the rest goes on. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { ConsoleServer } from '../../../cli/console/server.ts'
import { saysStatus, show, startBrowser, watchedPage } from '../../helpers/console/browser.ts'
import { startScriptedConsole } from '../../helpers/console/scripted-pods.ts'
import { until } from '../../helpers/until.ts'
import { aheadHere, moveClock } from '../../helpers/wall-clock.ts'

let reported: ConsoleServer
let browser: Browser

before(async () => {
  ;[reported, browser] = await Promise.all([startScriptedConsole(), startBrowser()])
})

after(async () => {
  await browser?.close()
  await reported?.close()
})

/** The console with another text of one of its files. */
async function withFile(file: string, text: string) {
  const context = await browser.newContext()
  await context.addInitScript(moveClock, aheadHere())
  const watched = await watchedPage(context, new URL(reported.url).origin)
  await watched.page.route(`**/console/${file}`, (route) =>
    route.fulfill({ contentType: 'text/javascript', body: text }),
  )
  await watched.page.goto(reported.url)
  return watched
}

const status = async (page: Page) => (await page.getByRole('status').textContent()) ?? ''

test('a view that fails is named with its error; the connection stays live and the other views work', async () => {
  const broken = "export function usage() { throw new TypeError('rows is undefined') }"
  const { page, complaints } = await withFile('views/usage.js', broken)
  await saysStatus(page, 'Live')
  await show(page, 'usage')
  const alert = page.getByRole('alert')
  await alert.waitFor()
  assert.match(
    (await alert.textContent()) ?? '',
    /The view Usage has failed: TypeError: rows is undefined/,
  )
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Usage')
  // Each sample draws the view again.
  await until('more samples have been drawn', async () => {
    assert.equal(await status(page), 'Live')
    return complaints.filter((one) => one.includes('rows is undefined')).length > 1
  })
  await show(page, 'tenants')
  await page.getByRole('table', { name: /budgets?, the most urgent first/ }).waitFor()
  assert.equal(await alert.count(), 0)
  assert.ok(complaints.every((one) => one.includes('rows is undefined')))
  await page.context().close()
})

test('a sample that the page cannot add up is a fault of the page, not a lost connection', async () => {
  const broken = `export const GAP_MS = 1
    export class History { sample = undefined; points = []; add() { throw new Error('no such counter') } }`
  const { page } = await withFile('history.js', broken)
  await saysStatus(page, 'The page has failed: Error: no such counter')
  assert.doesNotMatch(await status(page), /lost/)
  await page.context().close()
})
