/**
 * The playground of `gw console`: a page on loopback sends one request to a gateway of this machine with a typed key,
 * and shows the answer, its headers and its trace. No other page can send one, and no pod gets one.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { openConsole, row, show, startBrowser } from '../../helpers/console/browser.ts'
import { type LocalConsole, playOnce, startLocalConsole } from '../../helpers/console/playground.ts'
import { startScriptedConsole } from '../../helpers/console/scripted-pods.ts'
import {
  type FakeUpstream,
  type Front,
  silent,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'

let upstream: FakeUpstream
let front: Front
let served: LocalConsole
let browser: Browser

before(async () => {
  upstream = await startUpstream()
  ;[front, browser] = await Promise.all([
    startFront({
      // Only a client that leaves ends a silent request.
      upstreams: [{ name: 'up', endpoint: upstream.url, timeout_seconds: 500 }],
      routes: [
        { name: 'chat', strategy: 'single', primary: 'up' },
        { name: 'other', strategy: 'single', primary: 'up' },
      ],
      aliases: { 'gpt-4o': 'chat', 'claude-*': 'chat' },
      pricing: { models: [{ model: 'served', input: 2, output: 8 }] },
      budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000 }],
    }),
    startBrowser(),
  ])
  served = await startLocalConsole(front)
})

after(async () => {
  await browser?.close()
  await served?.close()
  await front?.process.stop()
  await upstream?.close()
})

async function opened(width = 1280) {
  const viewport = { width, height: 844 }
  const watched = await openConsole(browser, served.url, { viewport, bypassCSP: width < 500 })
  await show(watched.page, 'playground')
  await watched.page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor()
  await until('a route is proposed', async () => (await route(watched.page).inputValue()) !== '')
  return watched
}

const route = (page: Page) => page.getByLabel('Route, alias or model')
const send = (page: Page) => page.getByRole('button', { name: 'Send' }).click()
const answer = (page: Page) => page.getByLabel('Text of the answer')

test('a streamed answer appears as it arrives, with its headers, its trace and no complaint of the browser', async () => {
  let go = () => {}
  const hold = new Promise<void>((resolve) => {
    go = resolve
  })
  upstream.script.push(streaming({ words: ['Good ', 'morning'], hold }))
  const { page, complaints } = await opened()
  assert.equal(await page.getByRole('link', { name: 'Playground' }).count(), 1)
  assert.deepEqual(
    await page
      .locator('datalist option')
      .evaluateAll((all) => all.map((one) => one.getAttribute('value'))),
    ['chat', 'other', 'gpt-4o'],
  )
  await route(page).fill('gpt-4o')
  await page.getByLabel('Key of a client').fill(front.key)
  await page.getByLabel('System prompt').fill('Be brief.')
  await page.getByLabel('Message').fill("What's up?")
  await page.getByLabel('At most this many tokens').fill('20')
  await send(page)
  await until('the first word is there', async () => (await answer(page).textContent()) === 'Good ')
  await page.getByText('200, arriving').waitFor()
  go()
  await until(
    'the whole is there',
    async () => (await answer(page).textContent()) === 'Good morning',
  )
  await until('the end is shown', async () =>
    /200 · first token after .*, whole after /.test(
      (await page.locator('p[role=status]').last().textContent()) ?? '',
    ),
  )
  await row(page, /^Headers of the answer/, 'x-gw-upstream\tup')
  await row(page, /^Headers of the answer/, /x-gw-budget-tokens-remaining\t\d+/)
  await page.locator('.tree.card', { hasText: 'gpt-4o → chat' }).waitFor()
  const { messages, max_tokens } = upstream.asked.at(-1)!.body
  assert.deepEqual(
    [messages, max_tokens],
    [
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: "What's up?" },
      ],
      20,
    ],
  )
  assert.deepEqual(complaints, [])
  await page.context().close()
})

test('a whole answer shows what it cost, and a refusal what the gateway says', async () => {
  upstream.script.push(whole('Hello!'))
  const { page } = await opened()
  await page.getByLabel('As a stream').uncheck()
  await page.getByLabel('Key of a client').fill(front.key)
  await send(page)
  await until('the answer is there', async () => (await answer(page).textContent()) === 'Hello!')
  await row(page, /^Headers of the answer/, 'x-gw-cost-usd\t0.000038')
  await page.getByLabel('Key of a client').fill('gw_wrong')
  await send(page)
  await page.getByText('■ 401').waitFor()
  await page.locator('p.card', { hasText: /key/ }).first().waitFor()
  assert.equal(await answer(page).count(), 0)
  await page.context().close()
})

test('the key is in no storage, no address, no command and no later page', async () => {
  upstream.script.push(whole('Hello!'))
  const { page } = await opened()
  await page.getByLabel('Key of a client').fill(front.key)
  await page.getByLabel('As a stream').uncheck()
  await send(page)
  await until('the answer is there', async () => (await answer(page).textContent()) === 'Hello!')
  const kept = String(
    await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])',
    ),
  )
  for (const text of [kept, await page.content()]) assert.ok(!text.includes(front.key))
  const command = page.locator('.command pre')
  assert.match(
    (await command.textContent()) ?? '',
    /^curl -i http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions .*Bearer \$GW_KEY.*"model":"chat"/s,
  )
  await show(page, 'overview')
  await show(page, 'playground')
  assert.equal(await page.getByLabel('Key of a client').inputValue(), front.key)
  await page.reload()
  await until('the form is there', async () => (await route(page).inputValue()) !== '')
  assert.equal(await page.getByLabel('Key of a client').inputValue(), '')
  await page.context().close()
})

test('Stop ends the request at the upstream', async () => {
  upstream.script.push(streaming({ words: ['One', 'two'], hold: new Promise(() => {}) }))
  const { page } = await opened()
  await page.getByLabel('Key of a client').fill(front.key)
  await send(page)
  await until('the first word is there', async () => (await answer(page).textContent()) === 'One')
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('○ stopped').waitFor()
  await until('the upstream is left', () => upstream.abandoned === 1)
  const { length } = upstream.asked
  upstream.script.push(silent)
  await send(page)
  await until('the upstream is asked', () => upstream.asked.length > length)
  await page.getByRole('button', { name: 'Stop' }).click()
  await until('it is left before its first byte, too', () => upstream.abandoned === 2)
  await page.context().close()
})

test('on a phone nothing is cut off, and axe finds no fault, before and after an answer', async () => {
  upstream.script.push(whole('A long word: '.concat('x'.repeat(400))))
  const { page } = await opened(390)
  await page.evaluate(axe.source)
  const judge = async () => {
    const found = `axe.run(document, {}).then(({ violations }) => violations.map(({ id }) => id))`
    assert.deepEqual(await page.evaluate(found), [])
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
  }
  await judge()
  await page.getByLabel('As a stream').uncheck()
  await playOnce(page, front.key)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await judge()
  }
  await page.context().close()
})

async function posted(
  headers: Readonly<Record<string, string | undefined>>,
  body = '{}',
  at = served.podUrl,
) {
  const own = {
    authorization: `Bearer ${served.token}`,
    'content-type': 'application/json',
    origin: new URL(at).origin,
    'sec-fetch-site': 'same-origin',
  }
  const sent = Object.entries({ ...own, ...headers }).filter(([, value]) => value !== undefined)
  const answer = await fetch(`${at}/v1/chat/completions`, {
    method: 'POST',
    body,
    headers: sent as [string, string][],
  })
  return { status: answer.status, text: await answer.text() }
}

test('only the page itself may send a request, as JSON of a bounded size', async () => {
  const before = upstream.asked.length
  for (const [status, headers, body] of [
    [401, { authorization: undefined }],
    [401, { authorization: `Bearer ${front.key}` }],
    [405, { origin: undefined }],
    [403, { origin: 'http://127.0.0.1:1' }],
    [403, { origin: 'https://evil.example' }],
    [403, { origin: 'null' }],
    [403, { 'sec-fetch-site': 'same-site' }],
    [403, { 'sec-fetch-site': 'cross-site' }],
    [415, { 'content-type': 'text/plain' }],
    [413, {}, 'x'.repeat(1_048_577)],
  ] as const) {
    const answer = await posted(headers, body)
    assert.equal(answer.status, status, JSON.stringify([headers, answer.text]))
  }
  assert.equal(upstream.asked.length, before)
  // The gateway itself answers the page.
  const { status, text } = await posted({})
  assert.deepEqual([status, JSON.parse(text).error.code], [401, 'ERR_GW_AUTH_INVALID_KEY'])
})

test('the page may post to no other path', async () => {
  const { status } = await fetch(`${served.podUrl}/upstreams/test`, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.token}`, origin: new URL(served.podUrl).origin },
  })
  assert.equal(status, 403)
})

test('neither pods nor the admin port of a gateway have a playground', async () => {
  const cluster = await startScriptedConsole()
  try {
    const { origin } = new URL(cluster.url)
    const at = `${origin}/pods/gw-0`
    assert.equal((await posted({ authorization: 'Bearer scripted' }, '{}', at)).status, 405)
    const { page } = await openConsole(browser, cluster.url)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Playground' }).count(), 0)
    await page.context().close()
  } finally {
    await cluster.close()
  }
  const { adminUrl, adminHeaders } = front.process
  const token = String(adminHeaders.authorization).replace('Bearer ', '')
  const { page } = await openConsole(browser, `${adminUrl}/console/#token=${token}/playground`)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Playground' }).count(), 0)
  await page.context().close()
  const refused = await posted({ authorization: `Bearer ${token}` }, '{}', adminUrl)
  assert.equal(refused.status, 403)
})
