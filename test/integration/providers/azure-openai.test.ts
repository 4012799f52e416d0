/**
 * Azure OpenAI: the official SDK reads a fake, then the gateway uses the same fake, with keys and
 * with identities.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import OpenAI, { AzureOpenAI } from 'openai'
import { Certificates } from '../../helpers/certificates.ts'
import { type Front, startFront, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { azureApi } from '../../helpers/providers/fakes/azure-openai.ts'
import { startEntra, TENANT } from '../../helpers/providers/fakes/entra.ts'
import { until } from '../../helpers/until.ts'
import { testHosted, WEATHER } from './hosted.ts'

const certificates = new Certificates()
const certificate = certificates.make()
const machine = await startEntra()
const entra = await startEntra(certificate)
const everyToken = {
  has: (token: string) => [machine, entra].some(({ tokens }) => tokens.has(token)),
}
const api = await startUpstream(azureApi(everyToken as ReadonlySet<string>))
const spare = await startUpstream(whole('from the spare'))
const question = { model: 'chat', messages: [{ role: 'user' as const, content: 'Hi' }] }
after(async () => {
  await Promise.all([machine.close(), entra.close(), spare.close()])
  certificates.remove()
})

await testHosted('azure_openai', api)

const AZURE = { provider: 'azure', endpoint: api.url, model: 'upstream-m', api_key: undefined }

const NO_PROXY = { NO_PROXY: 'localhost,127.0.0.1', no_proxy: 'localhost,127.0.0.1' }

/** A gateway with these variables, in front of upstreams without a key. */
async function startKeyless(env: Readonly<Record<string, string>>): Promise<Front> {
  const front = await startFront(
    {
      upstreams: [
        { name: 'azure', ...AZURE },
        { name: 'spare', endpoint: spare.url },
      ],
      routes: [
        { name: 'chat', strategy: 'single', primary: 'azure' },
        { name: 'pair', strategy: 'primary_with_fallback', primary: 'azure', fallback: ['spare'] },
      ],
    },
    // The SDK would look for the test's services through a proxy of the machine.
    { env: { ...NO_PROXY, ...env } },
  )
  after(() => front.process.stop())
  return front
}

async function credentialOf(front: Front) {
  const { upstreams } = await front.admin('/status')
  return upstreams.find(({ name }: { name: string }) => name === 'azure').credential
}

for (const apiVersion of ['2024-10-21', '2025-04-01-preview']) {
  test(`the official SDK reads the fake by deployment, with version ${apiVersion}`, async () => {
    const vendor = new AzureOpenAI({
      apiKey: 'upstream-credential',
      endpoint: api.url,
      apiVersion,
      deployment: 'upstream-m',
      maxRetries: 0,
    })
    const answer = await vendor.chat.completions.create(question)
    assert.equal(answer.choices[0]?.message.content, 'You said: Hi')
    const stream = await vendor.chat.completions.create({ ...question, stream: true })
    const chunks = await Array.fromAsync(stream)
    assert.deepEqual(chunks[0]?.choices, [], 'the stream begins with verdicts on the prompt')
    assert.ok(chunks.some(({ choices: [choice] }) => choice && choice.delta === undefined))
    const { data } = await vendor.embeddings.create({ model: 'upstream-m', input: 'one' })
    assert.deepEqual(data[0]?.embedding, [3, 0.5, -0.25, 1])
  })
}

test('the official SDK reads the fake below /openai/v1, and the fake refuses another key', async () => {
  const baseURL = `${api.url}/openai/v1`
  const v1 = (apiKey: string) =>
    new OpenAI({ apiKey, baseURL, maxRetries: 0, defaultHeaders: { 'api-key': apiKey } })
  const messages = [{ role: 'user' as const, content: 'Weather in Oslo and Bergen?' }]
  const asked = {
    model: 'upstream-m',
    messages,
    tools: [{ type: 'function' as const, function: WEATHER }],
  }
  const answer = await v1('upstream-credential').chat.completions.create(asked)
  assert.equal(answer.choices[0]?.message.tool_calls?.length, 2)
  const strange = v1('another').chat.completions.create(asked)
  await assert.rejects(strange, OpenAI.AuthenticationError)
})

test('a deployment works with old and new dated versions, with a key', async () => {
  const upstream = {
    ...AZURE,
    model: 'gpt-4o',
    deployment: 'upstream-m',
    api_key: '${env:AZURE_KEY}',
  }
  const versions = ['2024-02-01', '2024-10-21', '2025-04-01-preview']
  const front = await startFront(
    {
      upstreams: versions.map((version) => ({ name: version, ...upstream, api_version: version })),
      routes: versions.map((name) => ({ name, strategy: 'single', primary: name })),
    },
    { env: { AZURE_KEY: 'upstream-credential' } },
  )
  after(() => front.process.stop())
  const client = new OpenAI({
    apiKey: front.key,
    baseURL: `${front.process.url}/v1`,
    maxRetries: 0,
  })
  for (const model of versions) {
    const asked = { ...question, model, max_completion_tokens: 5 }
    const stream = client.chat.completions.stream(asked)
    assert.equal(await stream.finalContent(), 'You said: Hi', model)
    const { path, headers } = api.asked.at(-1) ?? assert.fail()
    assert.equal(path, `/openai/deployments/upstream-m/chat/completions?api-version=${model}`)
    assert.deepEqual(
      [headers['api-key'], headers.authorization],
      ['upstream-credential', undefined],
    )
  }
})

test("a blocked prompt is the client's 400 with Azure's message and code, and no other upstream gets it", async () => {
  const front = await startKeyless(machine.machine)
  const asked = { ...question, model: 'pair', messages: [{ role: 'user', content: 'forbidden' }] }
  const { status, text } = await front.chat(asked)
  assert.equal(status, 400)
  assert.partialDeepStrictEqual(JSON.parse(text).error, { code: 'content_filter', param: 'prompt' })
  assert.equal(text.includes('innererror'), false)
})

test('in a stream, clients get every byte except the verdicts', async () => {
  const front = await startKeyless(machine.machine)
  const { text } = await front.stream()
  assert.match(text, /"content":"You said: "/)
  assert.equal(text.includes('"choices":[]') || text.includes('content_filter_offsets'), false)
  for (const event of text.split('\n\n').filter((one) => one.includes('"choices"'))) {
    const [choice] = JSON.parse(event.replace(/^(: keepalive\n)*data: /, '')).choices
    assert.ok(choice.delta)
  }
})

test("the machine's identity is fetched before the first request, and renewed before it expires", async () => {
  const before = machine.asked.length
  machine.seconds = 3
  const front = await startKeyless(machine.machine)
  const { status } = await front.chat()
  assert.equal(status, 200)
  const { headers } = api.asked.at(-1) ?? assert.fail()
  assert.deepEqual(
    [headers['api-key'], headers.authorization?.slice(0, 13)],
    [undefined, 'Bearer token-'],
  )
  await until('it is renewed', () => machine.asked.length >= before + 2)
  machine.seconds = 3600
  assert.equal((await front.chat()).status, 200)
  assert.equal(await front.value('gw_upstream_credential_valid{upstream="azure"}'), 1)
  const output = front.process.output()
  assert.equal(
    [...machine.tokens].some((token) => output.includes(token)),
    false,
  )
})

const SIGN_IN = {
  AZURE_AUTHORITY_HOST: entra.url,
  AZURE_TENANT_ID: TENANT,
  AZURE_CLIENT_ID: '99999999-8888-7777-6666-555555555555',
  NODE_EXTRA_CA_CERTS: certificate.certFile,
}

test('a client secret gets a token', async () => {
  const front = await startKeyless({ ...SIGN_IN, AZURE_CLIENT_SECRET: 'open-sesame' })
  assert.equal((await front.chat()).status, 200)
  assert.equal(entra.asked.at(-1), 'secret open-sesame')
  assert.partialDeepStrictEqual(await credentialOf(front), {
    from: 'Microsoft Entra ID',
    state: 'valid',
  })
})

test('a trial fetches a separate credential, and shows it as a step', async () => {
  const front = await startKeyless({ ...SIGN_IN, AZURE_CLIENT_SECRET: 'open-sesame' })
  const { adminUrl, adminHeaders: headers } = front.process
  const ask = async (path: string) =>
    JSON.parse(await (await fetch(adminUrl + path, { method: 'POST', headers })).text())
  const { upstreams } = await ask('/upstreams/test?name=azure')
  assert.partialDeepStrictEqual(upstreams[0].steps, [
    { step: 'credential', ok: true, asked: 'Microsoft Entra ID' },
    { step: 'completion', ok: true, status: 200 },
  ])
  assert.partialDeepStrictEqual(await ask('/routes/test?route=chat'), {
    ok: true,
    upstream: 'azure',
  })
})

test('the federated token of a pod gets a token', async () => {
  const file = join(certificates.folder, 'federated')
  writeFileSync(file, 'a.pod.token')
  const front = await startKeyless({ ...SIGN_IN, AZURE_FEDERATED_TOKEN_FILE: file })
  assert.equal((await front.chat()).status, 200)
  assert.equal(entra.asked.at(-1), 'assertion a.pod.token')
})

test('a refused secret fails the attempt with a message for each reader, and recovers automatically', async () => {
  entra.accepts = 'secret open-sesame'
  const front = await startKeyless({ ...SIGN_IN, AZURE_CLIENT_SECRET: 'wrong-sesame' })
  const alone = await front.chat()
  assert.equal(alone.status, 502)
  const { message } = JSON.parse(alone.text).error
  assert.equal(message, 'Upstream "azure" cannot be called: its credential could not be fetched.')
  assert.match(JSON.stringify(await front.trace(alone)), /AADSTS7000215/)
  const pair = await front.chat({ model: 'pair' })
  assert.equal(JSON.parse(pair.text).choices[0].message.content, 'from the spare')
  // `gw explain` foretells both.
  const { verdict } = await front.admin('/explain?model=chat')
  assert.deepEqual([verdict.status, verdict.message], [502, message])
  const spilled = await front.admin('/explain?model=pair')
  assert.equal(spilled.verdict.status, 200)
  assert.match(spilled.verdict.message, /unless the credential of azure stays missing/)
  const { state, reason } = await credentialOf(front)
  assert.equal(state, 'missing')
  assert.match(reason, /AADSTS7000215/)
  assert.equal(await front.value('gw_upstream_credential_valid{upstream="azure"}'), 0)
  entra.accepts = undefined
  await until('it heals', async () => (await credentialOf(front)).state === 'valid')
  assert.equal((await front.chat()).status, 200)
  await until('both are logged', () => front.logged('credential').length >= 2)
  const said = front.logged('credential').map(({ state }) => state)
  assert.deepEqual(said, ['missing', 'valid'])
  assert.equal(front.process.output().includes('wrong-sesame'), false)
})
