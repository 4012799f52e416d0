/**
 * Gemini on Vertex AI with the identity of the pod, a federated identity, or a service account key.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startFront } from '../../helpers/fake-upstream.ts'
import { startFakeGemini } from '../../helpers/providers/fakes/gemini.ts'
import { startFakeIdentity } from '../../helpers/providers/fakes/google-identity.ts'

const MODEL = 'gemini-3-flash-preview'
const PATH = `/v1/projects/p-1/locations/europe-west4/publishers/google/models/${MODEL}`
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const KEY = JSON.stringify(
  {
    type: 'service_account',
    project_id: 'p-1',
    private_key_id: 'k-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'gw@p-1.iam.gserviceaccount.com',
    client_id: '1',
    token_uri: 'https://oauth2.googleapis.com/token',
  },
  null,
  2,
)

const identity = await startFakeIdentity('from-google')
let accepts: (token: string) => boolean = () => false
const fake = await startFakeGemini({ accepts: (token) => accepts(token) })
let folder = ''

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-vertex-'))
})
after(() => Promise.all([identity.close(), fake.close(), rm(folder, { recursive: true })]))

/** A gateway whose only upstream is on Vertex AI, and one answer through it. */
async function answerWith(env: Record<string, string>, fields: object = {}) {
  const front = await startFront(
    {
      upstreams: [
        {
          name: 'vertex',
          provider: 'gemini',
          endpoint: fake.url,
          model: MODEL,
          project: 'p-1',
          region: 'europe-west4',
          api_key: undefined,
          // A busy machine loads the client library of the cloud in more than 30 s.
          timeout_seconds: 110,
          ...fields,
        },
      ],
      routes: [{ name: 'chat', strategy: 'single', primary: 'vertex' }],
    },
    // A proxy of the machine would not reach the test's services.
    { env: { NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1', ...env } },
  )
  try {
    fake.asked.length = 0
    const { status, text } = await front.chat({ messages: [{ role: 'user', content: 'Hello' }] })
    const { upstreams } = await front.admin('/status')
    return { status, text, upstreams, path: fake.asked[0]?.path, output: front.process.output() }
  } finally {
    await front.process.stop()
  }
}

test('the identity of the pod or machine gives the token', async () => {
  accepts = (token) => token === 'from-google-1'
  const METADATA = { GCE_METADATA_HOST: identity.host, METADATA_SERVER_DETECTION: 'assume-present' }
  const { status, text, path } = await answerWith({ ...METADATA, HOME: folder })
  assert.equal(status, 200, text)
  assert.equal(JSON.parse(text).choices[0].message.content, 'Good day.')
  assert.equal(path, `${PATH}:generateContent`)
})

test('a federated identity exchanges the token in its file', async () => {
  const subject = join(folder, 'subject')
  await writeFile(subject, 'a-token-of-the-cluster')
  const file = join(folder, 'federated.json')
  await writeFile(
    file,
    JSON.stringify({
      type: 'external_account',
      audience:
        '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `http://${identity.host}/v1/token`,
      credential_source: { file: subject },
    }),
  )
  accepts = (token) => token.startsWith('from-google-')
  const { status, text } = await answerWith({ GOOGLE_APPLICATION_CREDENTIALS: file })
  assert.equal(status, 200, text)
  assert.ok(identity.asked.includes('POST /v1/token'))
})

test('a service account key signs the token, and is not shown anywhere', async () => {
  const file = join(folder, 'key.json')
  await writeFile(file, KEY)
  accepts = (token) => {
    const [head, claims, signature] = token.split('.')
    const signed = Buffer.from(`${head}.${claims}`)
    return verify('sha256', signed, publicKey, Buffer.from(signature ?? '', 'base64url'))
  }
  const fields = { api_key: `\${file:${file}}` }
  const { status, text, upstreams, output } = await answerWith({ HOME: folder }, fields)
  assert.equal(status, 200, text)
  assert.equal(upstreams[0].credential?.state, 'valid')
  assert.equal(JSON.stringify([upstreams, output]).includes('PRIVATE KEY'), false)
})

test('a document that is not a key is reported, and is not shown anywhere', async () => {
  const file = join(folder, 'other.json')
  await writeFile(file, '{\n"type": "other",\n"secret": "canary-4711"\n}')
  const fields = { api_key: `\${file:${file}}` }
  const { status, text, upstreams, output } = await answerWith({}, fields)
  assert.equal(status, 502)
  assert.match(upstreams[0].credential.reason, /not a JSON key/)
  assert.equal(JSON.stringify([text, upstreams, output]).includes('canary-4711'), false)
})

test('without any identity the upstream gets no request, and the status shows the reason', async () => {
  const env = { GOOGLE_APPLICATION_CREDENTIALS: join(folder, 'missing.json') }
  const { status, upstreams, path } = await answerWith(env)
  assert.equal(status, 502)
  assert.equal(path, undefined)
  assert.equal(upstreams[0].credential.state, 'missing')
  assert.match(upstreams[0].credential.reason, /missing\.json/)
})
