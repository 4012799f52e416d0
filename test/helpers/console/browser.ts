/** A real browser, Debian's, driven through its own protocol; `.ci/run` installs it. */
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Throws with what to install where there is no browser. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = PLACES.find((place) => existsSync(place))
  if (executablePath === undefined)
    throw new Error('There is no browser: apt-get install chromium-headless-shell')
  // Its sandbox does not start as root; it opens no page but ours.
  return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-lcd-text'] })
}

export interface Watched {
  readonly page: Page
  /** Everything that the page has complained of: console messages, errors, violations of its policy, requests to another origin. */
  readonly complaints: string[]
  /** Bytes of bodies as they came over the wire, by path. */
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
    void request.sizes().then(({ responseBodySize, responseHeadersSize }) => {
      bytes.set(new URL(request.url()).pathname, responseBodySize + responseHeadersSize)
    })
  })
  return { page, complaints, bytes }
}
