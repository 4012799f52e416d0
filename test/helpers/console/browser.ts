/** A real browser, Debian's, driven through its own protocol; `.ci/run` installs it. */
import { existsSync } from 'node:fs'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { until } from '../until.ts'
import { aheadHere, moveClock } from '../wall-clock.ts'

const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Throws with advice if there is no browser. */
export async function startBrowser(args: readonly string[] = []): Promise<Browser> {
  const executablePath = PLACES.find((place) => existsSync(place))
  if (executablePath === undefined)
    throw new Error('There is no browser: apt-get install chromium-headless-shell')
  // Its sandbox does not start as root; it opens only our page.
  return await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-lcd-text', ...args],
  })
}

export interface Watched {
  readonly page: Page
  /** All complaints of the page: console messages, errors, violations of its policy, requests to another origin. */
  readonly complaints: string[]
  /** Bytes of bodies on the wire, by path. */
  readonly bytes: Map<string, number>
}

export async function watchedPage(context: BrowserContext, origin: string): Promise<Watched> {
  const page = await context.newPage()
  const complaints: string[] = []
  const bytes = new Map<string, number>()
  page.on('console', (message) => {
    if (message.type() !== 'log') complaints.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) complaints.push(`asks ${request.url()}`)
  })
  page.on('requestfinished', (request) => {
    const path = new URL(request.url()).pathname
    // A closed page reports no more complaints.
    void request.sizes().then(
      ({ responseBodySize, responseHeadersSize }) =>
        bytes.set(path, responseBodySize + responseHeadersSize),
      () => undefined,
    )
  })
  return { page, complaints, bytes }
}

/**
 * The console at an address with its token, once it is live. Its clock is that of the test, or as far ahead as given.
 */
export async function openConsole(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  clockAheadMs = aheadHere(),
): Promise<Watched> {
  const context = await browser.newContext(options)
  await context.addInitScript(moveClock, clockAheadMs)
  const watched = await watchedPage(context, new URL(url).origin)
  await watched.page.goto(url)
  await saysStatus(watched.page, 'Live')
  return watched
}

export async function saysStatus(page: Page, words: string): Promise<void> {
  await page.getByRole('status').filter({ hasText: words }).waitFor()
}

/** Without a load: the page follows its address. */
export async function show(page: Page, address: string): Promise<void> {
  await page.evaluate(`location.hash = '#/${address}'`)
}

/** Waits until a row of the table has this text; there is a tab between cells. */
export async function row(page: Page, table: RegExp, text: RegExp | string): Promise<void> {
  const rows = page.getByRole('table', { name: table }).getByRole('row')
  const says = (line: string) => (typeof text === 'string' ? line.includes(text) : text.test(line))
  let lines: readonly string[] = []
  try {
    await until(`a row says ${text}`, async () => {
      lines = (await rows.allInnerTexts()).map(joined)
      return lines.some(says)
    })
  } catch (cause) {
    throw new Error(`No row says ${text}:\n${lines.join('\n')}`, { cause })
  }
}

/** One line, with a tab between cells. */
function joined(text: string): string {
  return text
    .replaceAll('\u00a0', ' ')
    .replaceAll(/\s*\n\s*/g, (between) => (between.includes('\t') ? '\t' : ' '))
}
