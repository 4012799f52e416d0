/**
 * Azure OpenAI: addresses as people copy them, the gateway's identity there, and verdicts between the text of an
 * answer.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
import { compile } from '../../../dataplane/config/snapshot.ts'
import { azure_openai } from '../../../dataplane/providers/azure_openai/provider.ts'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import {
  sourceOf,
  withCredential,
} from '../../../dataplane/upstream/credentials/upstream-credential.ts'
import { aRequest, chatStream, chatWith } from '../../helpers/providers/a-request.ts'
import { readEvents } from '../../helpers/providers/provider-fixtures.ts'

const RESOURCE = 'https://res.openai.azure.com'

function load(fields: Readonly<Record<string, unknown>>) {
  const upstream = { name: 'a', provider: 'azure', model: 'gpt-4o', ...fields }
  const gw = {
    upstreams: [upstream],
    routes: [{ name: 'r', strategy: 'single', primary: 'a' }],
  }
  const document = { apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', gw }
  const host = { env: { KEY: 'the-key' }, readText: () => '' }
  return loadConfiguration(JSON.stringify(document), 'test.yaml', host)
}

function upstreamOf(fields: Readonly<Record<string, unknown>>) {
  const { configuration, problems } = load({ endpoint: RESOURCE, ...fields })
  assert.ok(configuration, JSON.stringify(problems))
  return compile(configuration).upstreams.get('a')!
}

function addressOf(fields: Readonly<Record<string, unknown>>): string {
  const settings = upstreamOf(fields)
  const { path } = chatWith(azure_openai).encode(aRequest(), settings, undefined)
  return settings.origin + settings.basePath + path
}

test('every form of an endpoint that Azure shows becomes the same address', () => {
  const ends = [
    '',
    '/',
    '/openai',
    '/openai/',
    '/openai/v1',
    '/openai/v1/',
    '/openai/deployments/x',
  ]
  for (const end of ends) {
    const endpoint = RESOURCE + end
    assert.equal(addressOf({ endpoint }), `${RESOURCE}/openai/v1/chat/completions`, end)
    assert.equal(
      addressOf({ endpoint, api_version: '2024-10-21', deployment: 'd' }),
      `${RESOURCE}/openai/deployments/d/chat/completions?api-version=2024-10-21`,
      end,
    )
  }
})

test('a proxy in front of Azure keeps its own path', () => {
  const endpoint = 'https://proxy.test/azure'
  assert.equal(addressOf({ endpoint }), `${endpoint}/openai/v1/chat/completions`)
  assert.equal(
    addressOf({ endpoint, api_version: '2024-10-21' }),
    `${endpoint}/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21`,
  )
  assert.equal(
    addressOf({ endpoint: 'https://proxy.test/team/v1' }),
    'https://proxy.test/team/v1/chat/completions',
  )
})

test('without api_key it is the identity of the gateway; a written key or header replaces it', () => {
  const sources = [
    [{}, 'Microsoft Entra ID'],
    [{ api_key: '${env:KEY}' }, undefined],
    [{ headers: { 'API-Key': '${env:KEY}' } }, undefined],
    [{ headers: { Authorization: 'Bearer ${env:KEY}' } }, undefined],
    [{ headers: { 'x-team': 'a' } }, 'Microsoft Entra ID'],
  ] as const
  for (const [fields, from] of sources) {
    assert.equal(sourceOf(upstreamOf(fields), {})?.from, from, JSON.stringify(fields))
  }
})

test('a key travels as api-key, and a token as a bearer token', () => {
  const headersOf = (settings: ReturnType<typeof upstreamOf>) => {
    const { headers } = chatWith(azure_openai).encode(aRequest(), settings, undefined)
    return [headers['api-key'], headers.authorization]
  }
  assert.deepEqual(headersOf(upstreamOf({ api_key: '${env:KEY}' })), ['the-key', undefined])
  const fetched = withCredential(upstreamOf({}), { value: 'token' })
  assert.deepEqual(headersOf(fetched), [undefined, 'Bearer token'])
  assert.deepEqual(headersOf(upstreamOf({})), [undefined, undefined])
})

test('settings without effect at Azure are refused, and an endpoint is required', () => {
  for (const [fields, said] of [
    [{}, /endpoint.*required: azure_openai has an address for each resource/],
    [{ endpoint: RESOURCE, region: 'westeurope' }, /azure_openai has no region/],
    [{ endpoint: RESOURCE, project: 'p' }, /azure_openai has no project/],
    [{ endpoint: `${RESOURCE}/openai/v1?api-version=preview` }, /holds a query/],
  ] as const) {
    assert.match(JSON.stringify(load(fields).problems), said)
  }
})

test('frames are passed on without being parsed until a verdict is among them', () => {
  const reader = chatStream(azure_openai, aRequest({ stream: true }))
  const frames = readEvents('azure_openai', 'annotated').map(({ data }) => `data: ${data}\n\n`)
  const [head, role, hi, verdict] = frames as [string, string, string, string]
  const skimmed = (text: string) => reader.skim?.(Buffer.from(text), new Meter().begin('up', 'm'))
  assert.equal(String(skimmed(role + hi + hi)), role + hi + hi)
  for (const run of [verdict, hi + verdict, verdict + hi, hi + hi + verdict + hi, head]) {
    assert.equal(skimmed(run), undefined)
  }
})

test('text of an answer that looks like a frame does not hide a verdict', () => {
  const reader = chatStream(azure_openai, aRequest({ stream: true }))
  const content = JSON.stringify({
    choices: [{ delta: { content: '"delta": {} data: {"delta":{}}' }, finish_reason: null }],
  })
  const verdict = '{"choices":[{"content_filter_results":{},"finish_reason":null,"index":0}]}'
  const run = `data: ${content}\n\ndata: ${verdict}\n\n`
  assert.equal(reader.skim?.(Buffer.from(run), new Meter().begin('up', 'm')), undefined)
})
