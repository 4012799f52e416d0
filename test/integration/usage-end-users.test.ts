/** End users in usage events, and nowhere else: by claim, header and body, as a hash, in plain, or not at all. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { aSigningKey, aToken, ISSUER } from '../helpers/token-issuer.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-end-users-'))
const [upstream, signer] = await Promise.all([startUpstream(), aSigningKey('first')])
after(async () => {
  await upstream.close()
  await rm(folder, { recursive: true })
})

const NAMES = [
  'claimed@person.test',
  'header@person.test',
  'user@person.test',
  'safe@person.test',
  'meta@person.test',
]
const QUESTION = { model: 'chat', messages: [{ role: 'user' as const, content: 'hi' }] }

async function startShowing(shown: 'off' | 'hash' | 'plain') {
  const path = join(folder, `${shown}.jsonl`)
  const front = await startFront({
    upstreams: [{ name: 'one', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
    rate_limits: {
      default: { requests_per_minute: 1000, burst: 100, concurrent_requests: 10 },
      tenants: [{ tenant: 'research', requests_per_minute: 1000 }],
    },
    // Without events, claim and header need a limit.
    ...(shown === 'off' && {
      limits: [{ name: 'people', for: { each: 'user' }, requests_per_minute: 1000 }],
    }),
    auth: {
      jwt: [
        {
          ...{ name: 'company', issuer: ISSUER, audiences: ['gw'] },
          jwks: { keys: [signer.jwk] },
          tenant: { claim: '/team' },
          end_user: { claim: '/person' },
        },
      ],
    },
    usage: {
      ...(shown !== 'plain' && { end_user_header: 'X-Gw-User' }),
      ...{ end_user: shown, sinks: { file: { path } } },
    },
  })
  return { front, path }
}

/** Asks in each way, with the weaker ones beside it. Returns the events by time, and all that the gateway has shown. */
async function eventsWith(shown: 'off' | 'hash' | 'plain') {
  const { front, path } = await startShowing(shown)
  const { url } = front.process
  const [claimed, header, user, safe, meta] = NAMES
  const chat = new OpenAI({ apiKey: front.key, baseURL: `${url}/v1` }).chat.completions
  const token = await aToken(signer, { team: 'research', person: claimed }, Date.now())
  const named = { 'X-Gw-User': header ?? '' }
  const withToken = { headers: { ...named, authorization: `Bearer ${token}` } }
  await chat.create({ ...QUESTION, user: user ?? '' }, withToken)
  await chat.create({ ...QUESTION, user: user ?? '' }, { headers: named })
  await chat.create({ ...QUESTION, user: user ?? '', safety_identifier: safe ?? '' })
  await chat.create({ ...QUESTION, safety_identifier: safe ?? '' })
  const anthropic = new Anthropic({ apiKey: front.key, baseURL: url })
  await anthropic.messages.create({ ...QUESTION, max_tokens: 5, metadata: { user_id: meta ?? '' } })
  await chat.create(QUESTION)
  const { adminUrl, adminHeaders, metricsUrl } = front.process
  const paths = ['/usage?by=tenant,key,route,model', '/traces', '/limits', '/config']
  const admin = paths.map(async (one) => await textOf(adminUrl + one, adminHeaders))
  const seen = await Promise.all([...admin, textOf(`${metricsUrl}/metrics`)])
  await front.process.stop()
  const text = await readFile(path, 'utf8')
  const lines = text.trimEnd().split('\n')
  const users = lines.map((line): string | null => JSON.parse(line).end_user)
  return { users, text, seen: [...seen, front.process.output()].join('\n') }
}

async function textOf(url: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await fetch(url, { headers })
  assert.equal(answer.status, 200, url)
  return await answer.text()
}

/** As sha256sum prints the beginning. */
const hashOf = (name: string) => hash('sha256', name).slice(0, 32)

test('plain: the claim wins over the header, that over the body; a request without a name has null', async () => {
  const { users, seen } = await eventsWith('plain')
  assert.deepEqual(users, [...NAMES, null])
  for (const name of NAMES) assert.ok(!seen.includes(name), name)
  for (const { headers } of upstream.asked) assert.ok(!('x-gw-user' in headers))
})

test('hash: the same person has the same 32 digits, and no name is anywhere', async () => {
  const { users, text, seen } = await eventsWith('hash')
  assert.deepEqual(users, [...NAMES.map(hashOf), null])
  for (const name of NAMES) {
    assert.ok(!text.includes(name) && !seen.includes(name), name)
    assert.ok(!seen.includes(hashOf(name)), name)
  }
})

test('off: events have neither, also where limits look at end users', async () => {
  const { users, text, seen } = await eventsWith('off')
  assert.deepEqual(users, [null, null, null, null, null, null])
  for (const name of NAMES)
    assert.ok(![text, seen].some((one) => one.includes(name) || one.includes(hashOf(name))), name)
})
