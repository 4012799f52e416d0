/**
 * Usage accounting: rows, budgets, metrics and the upstream's own count agree, despite failures.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  type FakeUpstream,
  failing,
  type Heard,
  startFront,
  startUpstream,
  streaming,
  USAGE,
  whole,
} from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'

const upstreams = await Promise.all([startUpstream(), startUpstream()])
const [one, two] = upstreams
const front = await startFront({
  upstreams: [
    { name: 'one', endpoint: one.url, model: 'dear' },
    { name: 'two', endpoint: two.url, model: 'cheap' },
  ],
  routes: [
    {
      name: 'chat',
      strategy: 'primary_with_fallback',
      primary: 'one',
      fallback: ['two'],
    },
  ],
  budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000, spend_per_month_usd: 100 }],
  pricing: [
    { model: 'dear', input: 10, output: 20, cached_input: 1, cache_write: 12.5 },
    { model: 'cheap', input: 0.1, output: 0.2 },
  ],
  usage: { tags: ['team'] },
})
after(async () => {
  await front.process.stop()
  await Promise.all(upstreams.map((upstream) => upstream.close()))
})

/** The usage that an upstream has reported. */
let reported = 0
const tells = (upstream: FakeUpstream, stream: boolean) => {
  reported += USAGE.total_tokens
  upstream.script.push(stream ? streaming() : whole())
}

async function ask(stream: boolean, team: string): Promise<Heard> {
  return await front.ask({ stream }, { 'x-gw-tags': `team=${team},hidden=x` }).over
}

test("rows add up to the budget's charges, to the nano-dollar, through fallbacks and cut streams", async () => {
  for (let request = 0; request < 24; request++) {
    const stream = request % 2 === 0
    if (request % 3 === 0) {
      one.script.push(failing(503))
      tells(two, stream)
    } else tells(one, stream)
    const heard = await ask(stream, request % 4 === 0 ? 'red' : 'blue')
    assert.equal(heard.status, 200, heard.text)
  }
  // A stream that breaks after its beginning is charged for its content so far.
  one.script.push(streaming({ end: 'cut' }))
  await ask(true, 'red')
  const { rows } = await front.admin('/usage?by=upstream,tag:team,key')
  const sum = (name: string) =>
    rows.reduce((all: number, row: Record<string, number>) => all + (row[name] ?? 0), 0)
  const used = sum('input_tokens') + sum('output_tokens')
  assert.deepEqual([sum('requests'), sum('errors'), sum('estimated')], [25, 1, 1])
  const estimated = used - reported
  assert.ok(estimated > 0 && estimated < 50, String(estimated))
  const tokens = await front.value('gw_budget_tokens_used{tenant="acme",window="day"}')
  const spend = await front.value('gw_budget_spend_usd{tenant="acme",window="month"}')
  assert.equal(used, tokens)
  assert.equal(sum('cost_nano_usd'), Math.round(spend * 1e9))
  const cost = await front.value('gw_tenant_cost_usd_total{tenant="acme"}')
  assert.equal(cost, spend)
  assert.deepEqual(
    new Set(rows.map(({ by }: { by: object }) => JSON.stringify(by))),
    new Set(
      ['one', 'two'].flatMap((upstream) =>
        ['red', 'blue'].map((team) =>
          JSON.stringify({ upstream, 'tag:team': team, key: 'client' }),
        ),
      ),
    ),
  )
  // Upstreams do not see the client's own name for its requests.
  assert.ok([...one.asked, ...two.asked].every(({ headers }) => !('x-gw-tags' in headers)))
})

interface Row {
  readonly cost_nano_usd: number
}

test('gw usage prints them as a table, as JSON and as CSV', async () => {
  const { adminUrl } = front.process
  const table = await gw('usage', '--by', 'model', '--since', '1d', '--admin', adminUrl)
  assert.equal(table.code, 0, table.stderr)
  assert.match(table.stdout, /^MODEL +REQUESTS +ERRORS +INPUT/)
  assert.match(table.stdout, /\ndear +17 +1 +/)
  assert.match(table.stdout, /\nTOTAL +25 +1 +/)
  const json = await gw('usage', '--by', 'model', '-o', 'json', '--admin', adminUrl)
  const { rows } = JSON.parse(json.stdout)
  assert.deepEqual(
    rows.map(({ by }: { by: { model: string } }) => by.model),
    ['dear', 'cheap'],
  )
  const csv = await gw('usage', '--by', 'tenant,model', '-o', 'csv', '--admin', adminUrl)
  const [head, first] = csv.stdout.split('\r\n')
  assert.match(head ?? '', /^tenant,model,requests,.*,cost_usd$/)
  assert.match(first ?? '', /^acme,dear,17,1,/)
  const focus = await gw('usage', '-o', 'focus', '--admin', adminUrl)
  const lines = focus.stdout.split('\r\n').slice(1, -1)
  const billed = lines.reduce((sum, line) => sum + Number(line.split(',')[1]) * 1e9, 0)
  const whole = rows.reduce((sum: number, row: Row) => sum + row.cost_nano_usd, 0)
  assert.equal(Math.round(billed), whole)
  const narrow = await gw('usage', '-o', 'focus', '--by', 'tenant', '--admin', adminUrl)
  assert.match(narrow.stderr, /give --by day or --by hour/)
  const tag = await gw('usage', '--by', 'tag:taem', '--admin', adminUrl)
  assert.match(tag.stderr, /does not declare "taem"; it has team/)
  const wrong = await gw('usage', '--by', 'prompt', '--admin', adminUrl)
  assert.notEqual(wrong.code, 0)
  assert.match(wrong.stderr, /Group by at most 8/)
  assert.equal((await gw('usage', '--since', '9y', '--admin', adminUrl)).code, 64)
})

test("a request's metadata tags it if no header does, in every API", async () => {
  const metadata = { team: 'violet', hidden: 'x' }
  one.script.push(whole(), whole(), whole())
  assert.equal((await front.ask({ metadata }).over).status, 200)
  const messages = { max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
  for (const [path, body] of [
    ['/v1/messages', { ...messages, metadata }],
    ['/v1/responses', { input: 'hi', metadata }],
  ] as const) {
    const answer = await fetch(front.process.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', ...body }),
    })
    assert.equal(answer.status, 200, await answer.text())
  }
  const { rows } = await front.admin('/usage?by=tag:team,key')
  const violet = rows.find(({ by }: { by: Record<string, string> }) => by['tag:team'] === 'violet')
  assert.equal(violet.requests, 3)
})

test('with state_dir the rows outlive the process', async () => {
  const state_dir = await mkdtemp(join(tmpdir(), 'gw-usage-'))
  const requests = []
  for (let life = 0; life < 2; life++) {
    const other = await startFront({
      upstreams: [{ name: 'one', endpoint: one.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
      state_dir,
    })
    assert.equal((await other.chat()).status, 200)
    const { rows } = await other.admin('/usage')
    requests.push(rows[0].requests)
    await other.process.stop()
  }
  await rm(state_dir, { recursive: true })
  assert.deepEqual(requests, [1, 2])
})
