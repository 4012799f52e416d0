/** The findings of axe in every view, and the bytes of the page on the wire, as a page of the documentation. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser } from 'playwright-core'
import { openConsole, show } from './browser.ts'
import { FOLDER } from './pictures.ts'

const RUN = `axe.run(document, {}).then(({ passes, violations, incomplete }) =>
  [passes.length, violations.length, incomplete.length])`

export async function writeReport(
  browser: Browser,
  url: string,
  views: readonly string[],
): Promise<void> {
  const rows: string[] = []
  let bytes = 0
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
    `The page takes ${(bytes / 1024).toFixed(1)} KiB over the wire, headers included.`,
    '',
    '| view | colours | width | rules that pass | rules that fail | to be judged by a person |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ]
  writeFileSync(join(FOLDER, 'report.md'), `${lines.join('\n')}\n`)
}
