/** The source of a request's credential: the configuration, or AWS's chain with fakes of its services. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { accessKeyIn } from '../../../../dataplane/providers/bedrock/aws/access-key.ts'
import { credentialSource } from '../../../../dataplane/providers/bedrock/aws/credentials.ts'
import type { Environment } from '../../../../dataplane/wire/credential-source.ts'
import { someSettings } from '../../../helpers/providers/a-request.ts'

const ID = 'ASIAIOSFODNN7EXAMPLE'
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const TOKEN = 'session-token=='
const EXPIRES = '2126-01-02T03:04:05Z'
const KEY = { id: ID, secret: SECRET, token: TOKEN, region: 'eu-west-1' }
const never = new AbortController().signal

let answer: (incoming: IncomingMessage, outgoing: ServerResponse, body: string) => void
const service = createServer(async (incoming, outgoing) => {
  answer(incoming, outgoing, Buffer.concat(await incoming.toArray()).toString())
})
service.listen(0, '127.0.0.1')
await once(service, 'listening')
const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
const folder = mkdtempSync(join(tmpdir(), 'gw-aws-'))
const tokenFile = join(folder, 'token')
writeFileSync(tokenFile, 'identity-of-the-pod')
const WEB_IDENTITY = {
  AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
  AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/models',
  AWS_ENDPOINT_URL_STS: url,
}
after(() => {
  service.close()
  service.closeAllConnections()
  rmSync(folder, { recursive: true })
})

/** The chain reads the variables of its process. */
beforeEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
  process.env.HOME = folder
  process.env.AWS_REGION = 'eu-west-1'
  process.env.AWS_EC2_METADATA_DISABLED = 'true'
})

function sourceFor(settings: object, env: Environment) {
  return credentialSource(someSettings({ credential: '', ...settings }), env)
}

async function fromChain(variables: Environment) {
  Object.assign(process.env, variables)
  const fetched = await sourceFor({}, process.env)?.fetch(never)
  assert.ok(fetched)
  return fetched
}

function json(outgoing: ServerResponse, content: object): void {
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(content))
}

test('a written API key needs no source', () => {
  assert.equal(sourceFor({ credential: 'ABSKabc' }, { AWS_BEARER_TOKEN_BEDROCK: 'x' }), undefined)
})

test('a written access key is its own source, and its secret parts are known', async () => {
  const credential = `${ID}:${SECRET}:${TOKEN}`
  const source = sourceFor({ credential }, {})
  assert.deepEqual(await source?.fetch(never), { value: credential, secrets: [SECRET, TOKEN] })
})

test('the variable with an API key comes before the chain', async () => {
  const source = sourceFor({}, { AWS_BEARER_TOKEN_BEDROCK: 'ABSKabc', AWS_ACCESS_KEY_ID: ID })
  assert.equal(source?.from, 'AWS_BEARER_TOKEN_BEDROCK')
  assert.deepEqual(await source?.fetch(never), { value: 'ABSKabc' })
})

test("AWS's package is loaded when the chain is used, and not before", async () => {
  const { cache } = createRequire(import.meta.url)
  const isLoaded = () =>
    Object.keys(cache).some((path) => path.includes('credential-provider-node'))
  assert.equal(isLoaded(), false)
  await fromChain({ AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: SECRET })
  assert.equal(isLoaded(), true)
})

test('the chain finds the variables of the process', async () => {
  const fetched = await fromChain({ AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: SECRET })
  assert.deepEqual(accessKeyIn(fetched.value), { ...KEY, token: '' })
  assert.deepEqual(fetched.secrets, [SECRET])
  assert.equal(fetched.expiresAtMs, undefined)
})

test('the region of the settings overrides that of the process', async () => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: SECRET })
  const fetched = await sourceFor({ region: 'us-west-2' }, process.env)?.fetch(never)
  assert.equal(accessKeyIn(fetched?.value ?? '')?.region, 'us-west-2')
})

test('the chain finds the identity of a pod, read again each time, with its expiry', async () => {
  let asked = 0
  answer = ({ headers }, outgoing) => {
    asked++
    assert.equal(headers.authorization, 'identity-of-the-pod')
    const keys = { AccessKeyId: ID, SecretAccessKey: SECRET, Token: TOKEN, Expiration: EXPIRES }
    json(outgoing, keys)
  }
  const variables = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
  }
  for (const _ of [1, 2]) {
    const fetched = await fromChain(variables)
    assert.deepEqual(accessKeyIn(fetched.value), KEY)
    assert.equal(fetched.expiresAtMs, Date.parse(EXPIRES))
    assert.deepEqual(fetched.secrets, [SECRET, TOKEN])
  }
  assert.equal(asked, 2)
})

test('the chain exchanges a token of the cluster for the keys of a role', async () => {
  answer = (_incoming, outgoing, body) => {
    const asked = new URLSearchParams(body)
    assert.equal(asked.get('Action'), 'AssumeRoleWithWebIdentity')
    assert.equal(asked.get('WebIdentityToken'), 'identity-of-the-pod')
    const fields = {
      AccessKeyId: ID,
      SecretAccessKey: SECRET,
      SessionToken: TOKEN,
      Expiration: EXPIRES,
    }
    const xml = Object.entries(fields).map(([name, value]) => `<${name}>${value}</${name}>`)
    outgoing.writeHead(200, { 'content-type': 'text/xml' })
    outgoing.end(
      '<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>' +
        `<Credentials>${xml.join('')}</Credentials>` +
        '</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>',
    )
  }
  const fetched = await fromChain(WEB_IDENTITY)
  assert.deepEqual(accessKeyIn(fetched.value), KEY)
  assert.equal(fetched.expiresAtMs, Date.parse(EXPIRES))
})

test('the chain finds the role of a machine', async () => {
  answer = ({ url: path, method, headers }, outgoing) => {
    if (method === 'PUT') return void outgoing.writeHead(200).end('metadata-token')
    assert.equal(headers['x-aws-ec2-metadata-token'], 'metadata-token')
    if (path?.endsWith('/security-credentials/')) return void outgoing.end('a-role')
    const keys = { AccessKeyId: ID, SecretAccessKey: SECRET, Token: TOKEN, Expiration: EXPIRES }
    return json(outgoing, { Code: 'Success', Type: 'AWS-HMAC', LastUpdated: EXPIRES, ...keys })
  }
  const fetched = await fromChain({
    AWS_EC2_METADATA_DISABLED: 'false',
    AWS_EC2_METADATA_SERVICE_ENDPOINT: url,
  })
  assert.deepEqual(accessKeyIn(fetched.value), KEY)
})

test('without any source, the operator gets advice', async () => {
  await assert.rejects(fromChain({}), /AWS_ACCESS_KEY_ID.*or a role/)
})

test('a refusal of the service contains no secret', async () => {
  answer = (_incoming, outgoing) => {
    outgoing.writeHead(403, { 'content-type': 'text/xml' })
    const text = '<Code>AccessDenied</Code><Message>Not authorized.</Message>'
    outgoing.end(`<ErrorResponse><Error>${text}</Error></ErrorResponse>`)
  }
  await assert.rejects(fromChain(WEB_IDENTITY), (error: Error) => {
    assert.match(error.message, /Not authorized\./)
    return !error.message.includes('identity-of-the-pod')
  })
})
