/** Script texts, pages of other origins, and names that resolve to loopback. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import type { ConsoleServer } from '../../../cli/console/server.ts'
import { openConsole, row, show, startBrowser } from '../../helpers/console/browser.ts'
import { type BusyGateway, HOSTILE, startBusyGateway } from '../../helpers/console/busy-gateway.ts'
import { startScriptedConsole } from '../../helpers/console/scripted-pods.ts'

const REBOUND = 'rebound.test'
const PLACES = [
  ...['overview', 'overview/live', 'routing', 'routing/chat', 'tenants', 'usage'],
  ...['usage/key/7%20d', 'requests', 'requests/one/r-1', 'configuration'],
]
/** Times are parsed as times, and names of states decide what is shown. */
const KEPT =
  /^\d{4}-\d\d-\d\d|^(serving|closed|open|failure|success|redis|away|route|alias|True|False)$/
/** Runs in a page of another origin. */
const INTRUSION = `async (admin) => {
  const arrived = (promise) => promise.then(({ ok }) => ok, () => false)
  const loaded = (name, path) => new Promise((resolve) => {
    const element = document.createElement(name)
    element.onload = () => resolve(true)
    element.onerror = () => resolve(false)
    element.src = admin + path
    document.body.append(element)
  })
  return {
    status: await arrived(fetch(admin + '/status')),
    page: await arrived(fetch(admin + '/console/')),
    stream: await arrived(fetch(admin + '/console/events')),
    blind: await arrived(fetch(admin + '/status', { mode: 'no-cors' })),
    script: await loaded('script', '/console/main.js'),
    image: await loaded('img', '/console/icon.svg'),
  }
}`
const NOTHING = {
  ...{ status: false, page: false, stream: false, blind: false, script: false, image: false },
}

let busy: BusyGateway
let reported: ConsoleServer
let browser: Browser

before(async () => {
  const rebinding = [`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`]
  ;[busy, reported, browser] = await Promise.all([
    startBusyGateway(),
    startScriptedConsole(hostile),
    startBrowser(rebinding),
  ])
  await busy.round()
})

after(async () => {
  await browser?.close()
  await reported?.close()
  await busy?.stop()
})

/** Every text of an answer is a script, including member names that are names of things. */
function hostile(body: unknown): unknown {
  if (typeof body === 'string') return KEPT.test(body) ? body : `${body}${HOSTILE}`
  if (Array.isArray(body)) return body.map(hostile)
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      /^(rpm|queue|reset)$/.test(name) && typeof value === 'number' ? name + HOSTILE : name,
      // The kind of a series; its name is hostile.
      name === 'by' && typeof value === 'string' ? value : hostile(value),
    ]),
  )
}

test('no view turns a text of an answer into an element, a script or a style', async () => {
  const { page, complaints } = await openConsole(browser, reported.url)
  for (const place of PLACES) {
    const isOne = place === 'requests/one/r-1'
    await show(page, isOne ? 'requests/one/r-1' : place)
    // Titles of charts have such texts too, and are hidden until the pointer is over them.
    await page.getByText(HOSTILE).filter({ visible: true }).first().waitFor()
    assert.equal(await page.locator('main img, main script, main style').count(), 0, place)
  }
  assert.deepEqual(complaints, [])
  await page.context().close()
})

test("a client's model and an upstream's error are shown as written", async () => {
  const { page, complaints } = await openConsole(browser, busy.consoleUrl)
  await show(page, 'requests/errors')
  await row(page, /that ended/, 'ERR_GW_ROUTE_NOT_FOUND')
  await page
    .getByRole('row', { name: /ROUTE_NOT_FOUND/ })
    .getByRole('link')
    .first()
    .click()
  await page.getByText(`${HOSTILE} → none`).waitFor()
  await show(page, 'routing')
  await row(page, /4 upstreams/, HOSTILE)
  assert.equal(await page.locator('main img').count(), 0)
  assert.deepEqual(complaints, [])
  await page.context().close()
})

for (const [what, originOf] of [
  ['a gateway', () => new URL(busy.consoleUrl).origin],
  ['the tool', () => new URL(reported.url).origin],
] as const) {
  test(`a page of another origin gets no data, no stream and no script of ${what}`, async (t) => {
    const server = createServer((_incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>other</p>')
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const host of ['127.0.0.1', REBOUND]) {
      const other = await browser.newPage()
      await other.goto(`http://${host}:${port}/`)
      const got = await other.evaluate(`(${INTRUSION})(${JSON.stringify(originOf())})`)
      assert.deepEqual(got, NOTHING)
      await other.close()
    }
  })

  test(`a name rebound to loopback opens no page, data or stream of ${what}`, async () => {
    const rebound = new URL(originOf())
    rebound.hostname = REBOUND
    const other = await browser.newPage()
    for (const path of [
      '/console/',
      '/status',
      '/console/events',
      '/cluster',
      '/pods/gw-0/status',
    ]) {
      const answer = await other.goto(rebound.origin + path)
      assert.equal(answer?.status(), 403, path)
    }
    // The browser now treats it as the same origin and sends no sign that it is not.
    const token = what === 'a gateway' ? busy.token : 'told'
    const asked = `(path) => fetch(path, { headers: { authorization: 'Bearer ${token}' } }).then(({ status }) => status)`
    for (const path of ['/status', '/traces', '/console/events', '/console/main.js'])
      assert.equal(await other.evaluate(`(${asked})(${JSON.stringify(path)})`), 403, path)
    await other.close()
  })
}
