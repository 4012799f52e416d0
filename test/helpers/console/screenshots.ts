/** Takes the pictures of the documentation: every view of a gateway under load, in both schemes, wide and narrow. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startBrowser, watchedPage } from './browser.ts'
import { startBusyGateway } from './busy-gateway.ts'

const FOLDER = join(import.meta.dirname, '../../../dataplane/docs/console')
const VIEWS = {
  overview: 'overview',
  routing: 'routing/careful',
  tenants: 'tenants/search',
  usage: 'usage/tenant/24%20h',
  requests: 'requests',
  configuration: 'configuration',
}
const SIZES = { 1280: 800, 390: 844 }
/** Long enough for charts with a line. */
const WARM_MS = 30_000

const busy = await startBusyGateway('out-of-memory')
busy.keepBusy()
const browser = await startBrowser()
try {
  mkdirSync(FOLDER, { recursive: true })
  const { adminUrl, adminHeaders } = busy.front.process
  const token = String(adminHeaders.authorization).replace('Bearer ', '')
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  const { page } = await watchedPage(context, adminUrl)
  await page.goto(`${adminUrl}/console/#token=${token}`)
  await page.waitForTimeout(WARM_MS)
  for (const [view, address] of Object.entries(VIEWS)) {
    await page.evaluate(`location.hash = '#/${address}'`)
    await page.getByRole('table').first().waitFor()
    // The first answers come a moment after the first picture of the view.
    await page.waitForTimeout(1500)
    for (const [width, height] of Object.entries(SIZES)) {
      await page.setViewportSize({ width: Number(width), height })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.screenshot({ path: join(FOLDER, `${view}-${colorScheme}-${width}.png`) })
      }
    }
  }
} finally {
  await browser.close()
  await busy.stop()
}
