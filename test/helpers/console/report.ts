/** The findings of axe in every view, and what the page and its history need, as a page of the documentation. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { openConsole, show } from './browser.ts'
import { FOLDER } from './pictures.ts'
import { type Planted, TEAMS } from './planted.ts'

const RUN = `axe.run(document, {}).then(({ passes, violations, incomplete }) =>
  [passes.length, violations.length, incomplete.length])`

const FRAMES_SECONDS = 5
/** As many frames as the browser gives while samples arrive. */
const FRAMES = `new Promise((resolve) => {
  const begin = performance.now()
  let count = 0
  const next = (now) => {
    count++
    if (now - begin < ${FRAMES_SECONDS}000) requestAnimationFrame(next)
    else resolve(count / ((now - begin) / 1000))
  }
  requestAnimationFrame(next)
})`

export async function writeReport(
  browser: Browser,
  url: string,
  { views, planted }: { readonly views: readonly string[]; readonly planted: Planted },
): Promise<void> {
  const rows: string[] = []
  let bytes = 0
  let frames = Number.POSITIVE_INFINITY
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [390, 1280]) {
      const viewport = { width, height: 844 }
      const options = { viewport, colorScheme, bypassCSP: true }
      const { page, bytes: files } = await openConsole(browser, url, options)
      await page.evaluate(axe.source)
      for (const view of views) {
        await show(page, view)
        await page.getByRole('table').first().waitFor()
        // An array of three numbers.
        const found = (await page.evaluate(RUN)) as readonly number[]
        rows.push(`| ${view} | ${colorScheme} | ${width} | ${found.join(' | ')} |`)
      }
      frames = Math.min(frames, await framesOf(page))
      const sizes = [...files].filter(([path]) => /^\/console\/(?!events)/.test(path))
      bytes = sizes.reduce((sum, [, size]) => sum + size, 0)
      await page.context().close()
    }
  }
  const lines = [
    '# Accessibility and size of the console',
    '',
    `Written by \`make console-screenshots\`, with axe-core ${axe.version} in Chromium ${browser.version()}.`,
    '',
    `The page takes ${(bytes / 1024).toFixed(1)} KiB over the wire, headers included. With samples arriving it is drawn ${frames.toFixed(0)} times a second.`,
    '',
    `The history of ${TEAMS.length} tenants over 48 hours, ${planted.requests} requests, takes ${(planted.bytes / 1_048_576).toFixed(2)} MiB of the gateway's memory.`,
    '',
    '| view | colours | width | rules that pass | rules that fail | to be judged by a person |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ]
  writeFileSync(join(FOLDER, 'report.md'), `${lines.join('\n')}\n`)
}

/** The view with most charts and tables, second by second. */
async function framesOf(page: Page): Promise<number> {
  await show(page, 'overview/live')
  return Number(await page.evaluate(FRAMES))
}
