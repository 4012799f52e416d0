/**
 * Takes the pictures of the documentation: every view of a gateway with ten tenants, two days and a restart behind it,
 * and load, in both schemes, wide and narrow.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../until.ts'
import { openConsole, show, startBrowser } from './browser.ts'
import { startBusyGateway } from './busy-gateway.ts'
import { walkDay } from './day.ts'
import { FOLDER, picture } from './pictures.ts'
import { plantTwoDays, TEAMS } from './planted.ts'
import { playOnce, startLocalConsole } from './playground.ts'
import { writeReport } from './report.ts'

const VIEWS = {
  overview: 'overview/48%20h',
  routing: 'routing/careful',
  tenants: 'tenants/search',
  usage: 'usage/tenant/24%20h',
  requests: 'requests',
  configuration: 'configuration',
}
const SIZES = { 1280: 860, 390: 844 }
/** Long enough for charts with a line. */
const WARM_MS = 45_000

const stateDir = mkdtempSync(join(tmpdir(), 'gw-console-'))
const planted = plantTwoDays(stateDir)
const busy = await startBusyGateway('out-of-memory', { teams: TEAMS, stateDir })
busy.keepBusy()
const browser = await startBrowser()
try {
  mkdirSync(FOLDER, { recursive: true })
  const { page } = await openConsole(browser, busy.consoleUrl, { reducedMotion: 'reduce' })
  const shoot = async (view: string, seen = page) => {
    // The first answers come a moment after the view, and those of two days a little later.
    await seen.waitForTimeout(1500)
    await until('there are answers', async () => {
      const text = (await seen.locator('main').textContent()) ?? ''
      return !text.includes('Asking')
    })
    for (const [width, height] of Object.entries(SIZES)) {
      await seen.setViewportSize({ width: Number(width), height })
      for (const colorScheme of ['light', 'dark'] as const) {
        await seen.emulateMedia({ colorScheme })
        await picture(seen, `${view}-${colorScheme}-${width}`)
      }
    }
  }
  // The breaker opens soon, and other requests displace the one that was tried twice.
  await show(page, 'requests/retried')
  await page
    .getByRole('row', { name: /after 2 attempts/ })
    .getByRole('link')
    .first()
    .click()
  await shoot('request')
  await page.waitForTimeout(WARM_MS)
  for (const [view, address] of Object.entries(VIEWS)) {
    await show(page, address)
    await page.getByRole('table').first().waitFor()
    await shoot(view)
  }
  // Only the page of the command may send requests.
  const local = await startLocalConsole(busy.front)
  const { page: own } = await openConsole(browser, local.url, { reducedMotion: 'reduce' })
  await playOnce(own, busy.keys[0] ?? '')
  await shoot('playground', own)
  await local.close()
  await writeReport(browser, busy.consoleUrl, { views: Object.keys(VIEWS), planted })
  await walkDay(browser, (hour, seen) => picture(seen, `day-${hour}`))
} finally {
  await browser.close()
  await busy.stop()
  rmSync(stateDir, { recursive: true })
}
