/** Signatures: the published vectors, and AWS's own signer on random requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessKeyIn } from '../../../../dataplane/providers/bedrock/aws/access-key.ts'
import { segmentOf } from '../../../../dataplane/providers/bedrock/aws/endpoint.ts'
import { Signer } from '../../../../dataplane/providers/bedrock/aws/signature.ts'
import { bedrock } from '../../../../dataplane/providers/bedrock/provider.ts'
import type { FinalRequest } from '../../../../dataplane/wire/provider.ts'
import { someSettings } from '../../../helpers/providers/a-request.ts'
import { signedByAws } from '../../../helpers/providers/fakes/aws-signer.ts'
import { aRandom } from '../../../helpers/random.ts'

const ID = 'AKIDEXAMPLE'
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const KEY = { id: ID, secret: SECRET, token: '', region: '' }
const MODEL = 'anthropic.claude-3-haiku-20240307-v1:0'
const REQUEST: FinalRequest = {
  method: 'POST',
  origin: 'https://bedrock-runtime.us-east-1.amazonaws.com',
  path: `/model/${segmentOf(MODEL)}/converse`,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(
    '{"messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{"maxTokens":16}}',
  ),
  wallMs: Date.UTC(2026, 0, 2, 3, 4, 5),
}

test('the published request gets the published signature', () => {
  const headers = new Signer(KEY, 'us-east-1').sign(REQUEST)
  assert.equal(REQUEST.path, '/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse')
  assert.equal(
    headers['x-amz-content-sha256'],
    '5903c58ae9037766e41ea3e3ef4368cbac6b3f82d1c1f15a67ac4a7520b79d7f',
  )
  assert.equal(headers['x-amz-date'], '20260102T030405Z')
  assert.equal(
    headers.authorization,
    `AWS4-HMAC-SHA256 Credential=${ID}/20260102/us-east-1/bedrock/aws4_request, ` +
      'SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, ' +
      'Signature=ec3b0e00430ffb32bad8026d98aedb3092a38e328544eb773b83a1d295a7f430',
  )
  assert.equal('x-amz-security-token' in headers, false)
})

test('the token of a session is sent and signed', () => {
  const token = 'AQoDYXdzEXAMPLE'
  const headers = new Signer({ ...KEY, token }, 'us-east-1').sign(REQUEST)
  assert.equal(headers['x-amz-security-token'], token)
  assert.match(
    headers.authorization ?? '',
    /x-amz-security-token, Signature=ce8c498ffb77abb631be70ba030c140072fd3b3e4efbe4883ebc6d75303c3305$/,
  )
})

test("1,000 random requests are signed like AWS's own signer does", async () => {
  const random = aRandom(7)
  const pick = (from: string, length: number) =>
    Array.from({ length }, () => [...from][random([...from].length)]).join('')
  for (let index = 0; index < 1_000; index++) {
    const model = pick("aZ09-._~:/%!'()*+ @é漢😀&=?#$", 1 + random(40))
    const port = random(3) === 0 ? `:${1024 + random(60_000)}` : ''
    const host = `bedrock-runtime.${pick('abc123', 8)}.amazonaws.com${port}`
    const region = pick('abcdefgh-1', 9)
    const token = random(2) === 0 ? '' : pick('ABCabc019+/=', 1 + random(200))
    const key = { id: pick('AKIZ09', 20), secret: pick('abcXYZ019+/', 40), token, region: '' }
    const request: FinalRequest = {
      ...REQUEST,
      origin: `https://${host}`,
      path: `${random(3) === 0 ? '/base/path' : ''}/model/${segmentOf(model)}/converse`,
      body: Buffer.from(pick('{}"a1:é漢😀\n', random(300))),
      wallMs: random(2 ** 31) * 1000 + random(1000),
    }
    const { path, headers, body, wallMs } = request
    const expected = await signedByAws(
      { method: 'POST', host, path, headers, body, wallMs },
      region,
      {
        accessKeyId: key.id,
        secretAccessKey: key.secret,
        ...(token !== '' && { sessionToken: token }),
      },
    )
    const signed = new Signer(key, region).sign(request)
    assert.deepEqual({ ...headers, host, ...signed }, { ...expected }, path)
  }
})

test('one key signs on both sides of midnight', () => {
  const signer = new Signer(KEY, 'us-east-1')
  const later = { ...REQUEST, wallMs: REQUEST.wallMs + 86_400_000 }
  for (const request of [REQUEST, later, REQUEST]) {
    assert.deepEqual(signer.sign(request), new Signer(KEY, 'us-east-1').sign(request))
  }
})

test('an API key is sent unchanged, and an access key signs', () => {
  const sign = (settings: object, origin = REQUEST.origin) =>
    bedrock.sign?.({ ...REQUEST, origin }, someSettings(settings))
  assert.deepEqual(sign({ credential: 'ABSKabc=' }), {})
  assert.deepEqual(sign({ credential: '' }), {})
  const scope = (settings: object, origin?: string) =>
    /Credential=([^,]*)/.exec(sign(settings, origin)?.authorization ?? '')?.[1]
  const id = 'AKIAIOSFODNN7EXAMPLE'
  const credential = `${id}:${SECRET}`
  const day = '20260102'
  // The setting, the region in the host, and the environment's region, in this order.
  const cases = [
    [{ region: 'eu-west-1' }, undefined, 'eu-west-1'],
    [{}, 'https://vpce-1.bedrock-runtime.eu-north-1.vpce.amazonaws.com', 'eu-north-1'],
    [{}, 'https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
    [{ credential: `${credential}::ap-south-1` }, 'https://proxy.test', 'ap-south-1'],
    [{}, 'https://proxy.test', 'us-east-1'],
  ] as const
  for (const [settings, origin, region] of cases) {
    const expected = `${id}/${day}/${region}/bedrock/aws4_request`
    assert.equal(scope({ credential, ...settings }, origin), expected)
  }
})

test('the form of a credential distinguishes an access key from an API key', () => {
  const id = 'ASIAIOSFODNN7EXAMPLE'
  assert.deepEqual(accessKeyIn(`${id}:${SECRET}`), { id, secret: SECRET, token: '', region: '' })
  assert.deepEqual(accessKeyIn(`${id}:${SECRET}:to/ken+==`), {
    id,
    secret: SECRET,
    token: 'to/ken+==',
    region: '',
  })
  for (const one of ['ABSKQmVkcm9jazox', id, `${id}:`, `${id}:short`, 'lower:case:secret', '']) {
    assert.equal(accessKeyIn(one), undefined, one)
  }
})
