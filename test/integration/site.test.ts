/** The site of the documents, as VitePress builds it without a network, in a real Chromium. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { startBrowser, watchedPage } from '../helpers/console/browser.ts'
import { serveSite } from '../helpers/site/serve.ts'
import { until } from '../helpers/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'gw-site-'))
/** Node refuses every connection of the build. */
const OFFLINE = [
  '--permission',
  '--allow-fs-read=*',
  '--allow-fs-write=*',
  '--allow-addons',
  '--allow-child-process',
  '--allow-worker',
]
const PHONE = { width: 390, height: 844 }
/** Pages that are loaded at once. */
const TABS = 3

let browser: Browser
let site: Awaited<ReturnType<typeof serveSite>>
let pages: string[]

before(async () => {
  const build = [...OFFLINE, join(ROOT, 'test/helpers/site/build.ts'), '--to', folder]
  ;[browser] = await Promise.all([
    startBrowser(),
    promisify(execFile)(process.execPath, build, { cwd: ROOT }),
  ])
  pages = globSync('**/*.html', { cwd: folder }).filter((page) => page !== '404.html')
  site = await serveSite(folder)
})

after(async () => {
  await browser?.close()
  site?.close()
  rmSync(folder, { recursive: true })
})

const htmlOf = (page: string) => readFileSync(join(folder, page), 'utf8')
const idsIn = (html: string) => new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))

test('every link, script and picture of every page is there, and so is every heading that is linked', () => {
  const ids = new Map(pages.map((page) => [page, idsIn(htmlOf(page))]))
  const broken = pages.flatMap((page) =>
    [...htmlOf(page).matchAll(/ (?:href|src)="([^"]+)"/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link) && !leads(link, page, ids))
      .map((link) => `${page}: ${link}`),
  )
  assert.ok(pages.length > 30, `${pages.length}`)
  assert.deepEqual(broken, [])
})

function leads(link: string, page: string, ids: ReadonlyMap<string, ReadonlySet<unknown>>) {
  const [path = '', anchor = ''] = link.replaceAll('&amp;', '&').split('#')
  const place = path.startsWith('/') ? path.slice(1) : join(dirname(page), path)
  const file = path === '' ? page : place.replace(/^$|\/$/, (end) => `${end}index.html`)
  if (!existsSync(join(folder, file))) return false
  return anchor === '' || (ids.get(file)?.has(decodeURIComponent(anchor)) ?? false)
}

test('the site has guides first, then what they refer to, and no page of the tests', () => {
  const [, sidebar = ''] = /id="VPSidebarNav"([\s\S]*?)<\/nav>/.exec(htmlOf('overview.html')) ?? []
  const groups = [...sidebar.matchAll(/<h2[^>]*>(.*?)<\/h2>/g)].map(([, name]) => name)
  assert.deepEqual(groups.slice(0, 3), ['Guides', 'Overview', 'Calling it'])
  assert.deepEqual(
    pages.filter((page) => page.startsWith('test/')),
    [],
  )
  assert.doesNotMatch(htmlOf('overview.html'), /test-integration/)
})

test('a search for the budget of a group finds its guide, without any request to another host', async () => {
  const context = await browser.newContext()
  const { page, complaints } = await watchedPage(context, site.url)
  await page.goto(`${site.url}overview.html`)
  await page.locator('.DocSearch-Button').click()
  await page.locator('#localsearch-input').fill('budget of a group')
  await page.locator('#localsearch-list a[href*="/guides/keys-and-budgets.html#"]').first().click()
  await page.waitForURL(/keys-and-budgets/)
  assert.match((await page.locator('main h1').textContent()) ?? '', /budgets/i)
  assert.deepEqual(complaints, [])
  await context.close()
})

test('a copy button puts the lines of its block into the clipboard', async () => {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  await page.goto(`${site.url}overview.html`)
  const block = page.locator('div[class*="language-"]').first()
  const shown = (await block.locator('pre').textContent()) ?? ''
  await block.hover()
  await block.locator('button.copy').click()
  await until('the clipboard has it', async () => {
    const copied = await page.evaluate('navigator.clipboard.readText()')
    return String(copied).trim() === shown.trim()
  })
  assert.match(shown, /^make run/)
  // Page contents, next page, version.
  assert.ok((await page.locator('.VPDocAsideOutline a').count()) > 3)
  assert.equal(await page.locator('.pager-link.next').count(), 1)
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  assert.ok(await page.getByRole('button', { name: version }).isVisible())
  await context.close()
})

test('no page scrolls sideways on a phone of 390 pixels', async () => {
  // The pages are laid out as they are served: their script adds nothing that has a width.
  const context = await browser.newContext({ viewport: PHONE, javaScriptEnabled: false })
  const waiting = pages.values()
  const wide: string[] = []
  const tab = async () => {
    const page = await context.newPage()
    for (const name of waiting) {
      await page.goto(site.url + relative('', name))
      const width = await page.evaluate('document.documentElement.scrollWidth')
      if (Number(width) > PHONE.width) wide.push(`${name}: ${width}`)
    }
  }
  await Promise.all(Array.from({ length: TABS }, tab))
  assert.deepEqual(wide, [])
  await context.close()
})
