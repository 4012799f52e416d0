/** Pictures of the documentation, as small as possible. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

export const FOLDER = join(import.meta.dirname, '../../../dataplane/docs/console')
/** WebP at this quality takes a third of a PNG, and its letters are sharp. */
const QUALITY = 60

export async function picture(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: QUALITY,
  })
  writeFileSync(join(FOLDER, `${name}.webp`), data, 'base64')
  await session.detach()
}
