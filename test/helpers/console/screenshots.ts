/** Takes the pictures of the documentation: every view of a gateway under load, in both schemes, wide and narrow. */
import { mkdirSync } from 'node:fs'
import { openConsole, show, startBrowser } from './browser.ts'
import { startBusyGateway } from './busy-gateway.ts'
import { walkDay } from './day.ts'
import { FOLDER, picture } from './pictures.ts'
import { writeReport } from './report.ts'

const VIEWS = {
  overview: 'overview',
  routing: 'routing/careful',
  tenants: 'tenants/search',
  usage: 'usage/tenant/24%20h',
  requests: 'requests',
  configuration: 'configuration',
}
const SIZES = { 1280: 860, 390: 844 }
/** Long enough for charts with a line. */
const WARM_MS = 45_000

const busy = await startBusyGateway('out-of-memory')
busy.keepBusy()
const browser = await startBrowser()
try {
  mkdirSync(FOLDER, { recursive: true })
  const { page } = await openConsole(browser, busy.consoleUrl, { reducedMotion: 'reduce' })
  const shoot = async (view: string) => {
    // The first answers come a moment after the first picture of the view.
    await page.waitForTimeout(1500)
    for (const [width, height] of Object.entries(SIZES)) {
      await page.setViewportSize({ width: Number(width), height })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await picture(page, `${view}-${colorScheme}-${width}`)
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
  await writeReport(browser, busy.consoleUrl, Object.keys(VIEWS))
  await walkDay(browser, (hour, seen) => picture(seen, `day-${hour}`))
} finally {
  await browser.close()
  await busy.stop()
}
