/**
 * The console while its gateway is silent, restarts or ends, while the machine sleeps, and with
 * many viewers.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as listenTcp, type Socket } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { askAdmin } from '../../../cli/asking/connection.ts'
import { type ConsoleServer, startConsole } from '../../../cli/console/server.ts'
import { Feed, VIEWERS_MAX } from '../../../dataplane/console/feed.ts'
import { openConsole, row, saysStatus, show, startBrowser } from '../../helpers/console/browser.ts'
import { startScriptedConsole } from '../../helpers/console/scripted-pods.ts'
import { type Front, startFront } from '../../helpers/fake-upstream.ts'
import { startGateway } from '../../helpers/gateway-process.ts'
import { until } from '../../helpers/until.ts'

let browser: Browser

before(async () => {
  browser = await startBrowser()
})
after(() => browser?.close())

async function aFront(t: TestContext): Promise<Front> {
  const front = await startFront({
    upstreams: [{ name: 'up', endpoint: 'http://127.0.0.1:1' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
  })
  t.after(() => front.process.stop())
  return front
}

function consoleOf({ process: { adminUrl, adminHeaders } }: Front): string {
  const token = String(adminHeaders.authorization).replace('Bearer ', '')
  return `${adminUrl}/console/#token=${token}`
}

/** The first line of the first chart, point by point. */
async function steps(page: Page): Promise<string> {
  return (await page.locator('path.line0').first().getAttribute('d')) ?? ''
}

/** The charts of the history have a line at once, so a line alone is no sign of those that follow each second. */
async function showLive(page: Page): Promise<void> {
  await show(page, 'overview/live')
  await page
    .getByText(/^Requests\/s, the last \d+ seconds$/)
    .first()
    .waitFor({ state: 'attached' })
  await until('there is a line', async () => (await steps(page)).includes('L'))
}

async function untilGap(page: Page): Promise<void> {
  await until('the line continues after a gap', async () => /L[^M]*M[^M]*L/.test(await steps(page)))
}

test('the page reports a silent gateway within three seconds, recovers, and shows a gap instead of zero', async (t) => {
  const front = await aFront(t)
  const { page } = await openConsole(browser, consoleOf(front))
  await showLive(page)
  front.process.signal('SIGSTOP')
  const said = await page.evaluate(`new Promise((resolve) => {
    const status = document.getElementById('connection')
    const since = performance.now()
    new MutationObserver(() => {
      if (status.textContent.includes('lost')) resolve({ words: status.textContent, ms: performance.now() - since })
    }).observe(status, { childList: true, characterData: true, subtree: true })
  })`)
  const { words, ms } = said as { readonly words: string; readonly ms: number }
  assert.match(words, /^Connection lost: .*trying again, numbers of \d\d:\d\d:\d\d$/)
  t.diagnostic(`it reported this ${Math.round(ms)} ms after the gateway had stopped`)
  front.process.signal('SIGCONT')
  await saysStatus(page, 'Live')
  await untilGap(page)
  await page.context().close()
})

test('after the machine sleeps, the page reports it, reconnects, and leaves a gap', async (t) => {
  const front = await aFront(t)
  const { page } = await openConsole(browser, consoleOf(front))
  await showLive(page)
  await page.clock.install()
  const [lost] = await Promise.all([
    page
      .getByRole('status')
      .filter({ hasText: 'Connection lost' })
      .waitFor()
      .then(() => true),
    sleepOf(page, front),
  ])
  assert.ok(lost)
  await saysStatus(page, 'Live')
  await page.context().close()
})

/** To the page, a sleep is a jump of the clock and a silent stream. */
async function sleepOf(page: Page, front: Front): Promise<void> {
  front.process.signal('SIGSTOP')
  await page.clock.fastForward('10:00')
  front.process.signal('SIGCONT')
}

test('a gateway that restarts behind the tool is shown as away, then recovers, and the chart shows no zero', async (t) => {
  const front = await aFront(t)
  const server = await aTool(front)
  t.after(() => server.close())
  const { page } = await openConsole(browser, server.url)
  await showLive(page)
  const { configFile, url } = front.process
  const config = await readFile(configFile, 'utf8')
  await front.process.stop()
  await saysStatus(page, 'no gateway answers')
  await row(page, /to look at/, /does not answer/)
  const again = await startGateway({ config, env: { UPSTREAM_KEY: 'k' } })
  t.after(() => again.stop())
  assert.equal(again.url, url)
  await saysStatus(page, 'Live')
  await untilGap(page)
  await page.context().close()
})

/** As `gw console` serves it; a gateway has a new token after each start. */
async function aTool(front: Front): Promise<ConsoleServer> {
  const { adminUrl } = front.process
  const server = await startConsole({ port: 0, token: 'tool', onSilence() {} })
  server.follow([
    {
      name: 'gw',
      ask: (path, asking) => askAdmin(adminUrl, path, asking),
      clientUrl: async () => '',
    },
  ])
  return server
}

test('a cut stream is opened again', async (t) => {
  const reported = await startScriptedConsole()
  t.after(() => reported.close())
  const { url, cut } = await aLine(t, reported.url)
  const { page } = await openConsole(browser, url)
  await showLive(page)
  cut()
  await saysStatus(page, 'Connection lost')
  await saysStatus(page, 'Live')
  await page.context().close()
})

/** A connection to the console that can be cut. */
async function aLine(t: TestContext, url: string) {
  const to = new URL(url)
  const port = Number(to.port)
  const sockets = new Set<Socket>()
  const server = listenTcp((socket) => {
    const there = connect(port, '127.0.0.1')
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => there.destroy())
    there.on('error', () => undefined)
    socket.pipe(there).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy()
    sockets.clear()
  }
  t.after(() => {
    server.close()
    cut()
  })
  to.port = String((server.address() as AddressInfo).port)
  return { url: to.href, cut }
}

const SAMPLE_BYTES = 262_144
const SAMPLES = 200

test('one of twenty viewers reads nothing: it costs one sample, and the others miss none', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let made = 0
  const filling = 'x'.repeat(SAMPLE_BYTES)
  const feed = new Feed({ sample: () => ({ made: ++made, filling }), isEnding: () => false })
  const unread: (() => number)[] = []
  const server = createServer((_incoming, outgoing) => {
    unread.push(() => outgoing.writableLength)
    feed.join(outgoing)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close(() => undefined).closeAllConnections())
  const { port } = server.address() as AddressInfo
  const viewers = await Promise.all(Array.from({ length: VIEWERS_MAX }, () => join(port)))
  const [, ...reading] = viewers
  const heard = reading.map(countSamples)
  for (let sample = 0; sample < SAMPLES; sample++) {
    const before = made
    t.mock.timers.tick(1000)
    await until('the sample is made', () => made > before)
    await until('the viewers that read have it', () => heard.every((count) => count() >= made))
    const most = Math.max(...unread.map((bytes) => bytes()))
    assert.ok(most < 2 * SAMPLE_BYTES, `${most} bytes wait after ${made} samples`)
  }
  assert.equal(feed.viewers, VIEWERS_MAX - 1)
  for (const viewer of viewers) viewer.destroy()
})

async function join(port: number): Promise<IncomingMessage> {
  const [incoming] = await once(get({ port, host: '127.0.0.1', agent: false }), 'response')
  incoming.on('error', () => undefined)
  return incoming
}

function countSamples(viewer: IncomingMessage): () => number {
  let count = 0
  viewer.on('data', (piece: Buffer) => {
    if (piece.includes('id: ')) count = Number(/id: (\d+)/.exec(String(piece))?.[1])
  })
  return () => count
}
