/**
 * Tags by which usage is counted: the holder of a key cannot change the key's tags, and odd values
 * are refused or cleaned.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { QUESTION, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { RawSocket } from './hostile/raw-socket.ts'

type Fields = Readonly<Record<string, unknown>>

const folder = await mkdtemp(join(tmpdir(), 'gw-usage-tags-'))
const events = join(folder, 'usage.jsonl')
const upstream = await startUpstream()
const blue = aKey({ id: 'blue', tags: { team: 'blue' } })
const all = aKey({ id: 'all', tags: { feature: 'search', team: 'blue' } })
const open = aKey({ id: 'open' })
const front = await startFront({
  upstreams: [{ name: 'one', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
  api_keys: [blue, all, open].map(({ record }) => record),
  usage: { tags: ['team', 'feature'], sinks: { file: { path: events } } },
})
after(async () => {
  await front.process.stop()
  await upstream.close()
  await rm(folder, { recursive: true })
})

interface Given {
  readonly header?: string | undefined
  readonly metadata?: Fields
}

const MESSAGES = { model: 'chat', messages: QUESTION.messages, max_tokens: 5 }
const BODIES: Readonly<Record<string, Fields>> = {
  '/v1/chat/completions': MESSAGES,
  '/v1/messages': MESSAGES,
  '/v1/responses': { model: 'chat', input: 'hi' },
}
const [CHAT = ''] = Object.keys(BODIES)

/** Sent as bytes: some of them no HTTP client would send. */
async function answerTo(
  { key }: { readonly key: string },
  { header, metadata }: Given,
  path = CHAT,
) {
  const body = Buffer.from(JSON.stringify({ ...BODIES[path], metadata }))
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: gw',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...(header === undefined ? [] : [`X-Gw-Tags: ${header}`]),
  ]
  const socket = new RawSocket(front.process.url)
  socket.send(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]))
  assert.ok(await socket.until(() => socket.answers.length > 0))
  socket.leave()
  const [answer] = socket.answers
  assert.ok(answer !== undefined)
  return answer
}

/** How the request is counted. */
async function tagsOf(key: { readonly key: string }, given: Given, path = CHAT): Promise<string> {
  const { status, headers, body } = await answerTo(key, given, path)
  assert.equal(status, 200, body)
  return (await front.admin(`/traces/${headers['x-request-id']}`)).tags
}

const MANY = 'x'.repeat(10_240)

/** Values as clients write them. A header that contains the first ones is not HTTP. */
const ODD = [
  { what: 'a control character', value: 'a\u0001b', isNoHeader: true },
  { what: 'a line break', value: 'a\nb', isNoHeader: true },
  { what: 'a zero byte', value: 'a\u0000b', isNoHeader: true },
  { what: 'an equals sign', value: 'a=b' },
  { what: 'an emoji', value: '🦊' },
  { what: 'a letter with an accent', value: 'é' },
  { what: 'a space within', value: 'a b' },
  { what: '65 characters', value: 'x'.repeat(65) },
  { what: 'nothing', value: '' },
] as const

test('nothing that a client sends changes a tag of its key, in any API; the client sets tags that the key leaves open', async () => {
  const headers = [
    undefined,
    'team=red',
    'team=red,team=green',
    ' team = red',
    'feature=f,team=',
    MANY,
  ]
  for (const path of Object.keys(BODIES)) {
    for (const header of headers) {
      for (const metadata of [{}, { team: 'green', feature: 'm' }]) {
        const given = { header, metadata }
        assert.equal(await tagsOf(all, given, path), 'team=blue,feature=search')
        const mine = header?.startsWith('feature') ? 'f' : metadata.feature
        const feature = mine === undefined ? '' : `,feature=${mine}`
        assert.equal(await tagsOf(blue, given, path), `team=blue${feature}`)
      }
    }
    const both = { header: 'team=red', metadata: { team: 'green', feature: 'm' } }
    assert.equal(await tagsOf(open, both, path), 'team=red,feature=m')
  }
})

for (const { what, value, ...rest } of ODD) {
  test(`a value of ${what} counts as invalid, or is not a request, and sets no other tag`, async () => {
    const header = `feature=${value}`
    const answer = await answerTo(open, { header })
    assert.equal(answer.status, 'isNoHeader' in rest ? 400 : 200)
    if (answer.status === 200) assert.equal(await tagsOf(open, { header }), 'feature=invalid')
    assert.equal(await tagsOf(open, { metadata: { feature: value } }), 'feature=invalid')
    assert.equal(await tagsOf(blue, { metadata: { feature: value } }), 'team=blue,feature=invalid')
  })
}

test('a comma ends a value in the header and is invalid in metadata, and 10 kB are ignored or invalid', async () => {
  assert.equal(await tagsOf(open, { header: 'feature=a,team=b' }), 'team=b,feature=a')
  assert.equal(await tagsOf(open, { metadata: { feature: 'a,team=b' } }), 'feature=invalid')
  assert.equal(await tagsOf(open, { header: `team=b,feature=${MANY}` }), '')
  assert.equal(await tagsOf(open, { metadata: { feature: MANY } }), 'feature=invalid')
  assert.equal(await tagsOf(open, { metadata: { feature: 'a', more: MANY + MANY } }), '')
})

test('a key that would set such a value, or an undeclared tag, is refused, and the previous keys stay', async () => {
  const document = parse(await readFile(front.process.configFile, 'utf8'))
  const commas = { what: 'commas', value: 'a,team=b' }
  const large = { what: '10 kB', value: MANY }
  const undeclared = { what: 'a tag that is not declared', tags: { taem: 'blue' } }
  const values = [...ODD, commas, large].map(({ what, value }) => ({ what, tags: { team: value } }))
  for (const { what, tags } of [...values, undeclared]) {
    const api_keys = [{ ...blue.record, tags }]
    const answer = await fetch(`${front.process.adminUrl}/config`, {
      method: 'PUT',
      headers: front.process.adminHeaders,
      body: stringify({ ...document, gw: { ...document.gw, api_keys } }),
    })
    assert.ok(answer.status >= 400, what)
    assert.match(await answer.text(), /gw\.api_keys\[0\]\.tags\.(team|taem)/, what)
    assert.equal(await tagsOf(blue, { header: 'team=red' }), 'team=blue')
  }
})

test('gw keys list shows the tags of each key', async () => {
  const { stdout } = await gw('keys', 'list', '--admin', front.process.adminUrl)
  assert.match(stdout, /^ID +TENANT +STATUS +PREFIX +SCOPES +ROUTES +TAGS +EXPIRES$/m)
  assert.match(stdout, /^all .* \* +feature=search,team=blue +-$/m)
  assert.match(stdout, /^open .* \* +- +-$/m)
})

test('rows, events and reports contain only the cleaned values', async () => {
  const { rows } = await front.admin('/usage?by=key,tags')
  const shown = rows.map(({ by }: { by: Fields }) => [by.key, by.tags] as const)
  for (const [key, tags] of shown) {
    assert.match(tags, /^((team|feature)=[\w.:/@-]{1,64}(,(?!$)|$))*$/)
    if (key !== 'open') assert.match(tags, /^team=blue(,|$)/)
  }
  await front.process.stop()
  const written = (await readFile(events, 'utf8')).trimEnd().split('\n')
  const requests = rows.reduce((sum: number, row: { requests: number }) => sum + row.requests, 0)
  assert.equal(written.length, requests)
  for (const line of written) {
    const { key, tags } = JSON.parse(line)
    assert.ok(Object.keys(tags).every((name) => name === 'team' || name === 'feature'))
    if (key !== 'open') assert.equal(tags.team, 'blue')
  }
})
