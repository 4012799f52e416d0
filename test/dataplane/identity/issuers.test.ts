/** Tokens of issuers: which are accepted, for which tenant, and the answer to every other one. */
import assert from 'node:assert/strict'
import { createHmac, hash } from 'node:crypto'
import { before, test } from 'node:test'
import { CompactSign } from 'jose'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import type { Caller } from '../../../dataplane/call/call.ts'
import { Issuers } from '../../../dataplane/identity/issuers.ts'
import { authenticate } from '../../../dataplane/request/stages/authenticate.ts'
import { createLog } from '../../../dataplane/telemetry/log.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { aClock } from '../../helpers/clock.ts'
import { aSigningKey, aToken, ISSUER, NOW, type SigningKey } from '../../helpers/token-issuer.ts'
import { headed } from '../headed.ts'
import { aSnapshotOf } from '../request/stages/snapshots.ts'

let key: SigningKey
let other: SigningKey

before(async () => {
  key = await aSigningKey('one')
  other = await aSigningKey('one')
})

const KEY_HASH = `sha256:${hash('sha256', 'gw_key')}`

type Settings = Readonly<Record<string, unknown>>

const anIssuer = (settings: Settings, keys = [key]) => ({
  name: 'idp',
  issuer: ISSUER,
  audiences: ['gw'],
  jwks: { keys: keys.map(({ jwk }) => jwk) },
  tenant: { claim: '/team' },
  ...settings,
})

function gatewayWith(settings: Settings = {}, keys = [key], others: readonly object[] = []) {
  const names = aSnapshotOf({
    auth: { jwt: [anIssuer(settings, keys), ...others] },
    api_keys: [{ id: 'k', tenant: 'acme', routes: ['*'], hash: KEY_HASH }],
  })
  const clock = aClock()
  const log = createLog({ write() {}, flush() {}, wallClock: clock.wall })
  const schedule = () => () => undefined
  const issuers = new Issuers({ clock, random: () => 0, schedule, log, metrics: createMetrics() })
  issuers.follow(names.section)
  return (token: string, now = NOW): Promise<Caller> =>
    (async () =>
      authenticate(headed({ authorization: `Bearer ${token}` }), { names, issuers }, now))()
}

async function refusal(ask: Promise<unknown>): Promise<GatewayError> {
  try {
    await ask
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    return error
  }
  throw new assert.AssertionError({ message: 'it was taken' })
}

test('a good token has the tenant, the id, the routes and the scopes of its issuer', async () => {
  const ask = gatewayWith({ routes: ['chat'], scopes: ['models:invoke'] })
  const { tenant, key: found } = await ask(await aToken(key))
  assert.equal(tenant, 'acme')
  assert.equal(found.record.id, 'idp:alice')
  assert.deepEqual(found.routes, new Set(['chat']))
  assert.deepEqual([found.invokes, found.lists], [true, false])
})

test('a recently verified token is known at once, and not after its expiry', async () => {
  const ask = gatewayWith()
  const token = await aToken(key, { exp: NOW / 1000 + 10 })
  const first = await ask(token)
  assert.equal((await ask(token, NOW + 39_000)).key.record.id, first.key.record.id)
  assert.equal((await refusal(ask(token, NOW + 41_000))).code, 'ERR_GW_AUTH_INVALID_KEY')
})

test('keys of this gateway are accepted in addition to tokens', async () => {
  assert.equal((await gatewayWith()('gw_key')).key.record.id, 'k')
})

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = (header: unknown, claims: unknown) => `${part(header)}.${part(claims)}.`
const GOOD = { iss: ISSUER, aud: 'gw', sub: 'alice', team: 'acme', exp: NOW / 1000 + 600 }

const REFUSED: Readonly<Record<string, () => Promise<string> | string>> = {
  'the algorithm none': () => unsigned({ alg: 'none', kid: 'one' }, GOOD),
  'a signature with the public key as a secret': () => {
    const said = `${part({ alg: 'HS256', kid: 'one' })}.${part(GOOD)}`
    const secret = JSON.stringify(key.jwk)
    return `${said}.${createHmac('sha256', secret).update(said).digest('base64url')}`
  },
  'another audience': () => aToken(key, { aud: 'another' }),
  'no audience': () => aToken(key, { aud: undefined }),
  'another issuer': () => aToken(key, { iss: 'https://another.test' }),
  'an end 31 seconds ago': () => aToken(key, { exp: NOW / 1000 - 31 }),
  'no end': () => aToken(key, { exp: undefined }),
  'a beginning in 31 seconds': () => aToken(key, { nbf: NOW / 1000 + 31 }),
  'a key of another pair': () => aToken(other),
  'a key that is not in the set': () => aToken({ ...key, kid: 'two' }),
  'more than 8 KiB': () => aToken(key, { more: 'x'.repeat(9000) }),
  'no claim with the tenant': () => aToken(key, { team: undefined }),
  'no claim with the id': () => aToken(key, { sub: undefined }),
  'parts that are no JSON': () => 'aaaa.bbbb.cccc',
}

test('every invalid token gets the answer of an unknown key', async () => {
  const ask = gatewayWith()
  const unknown = await refusal(ask('gw_unknown'))
  for (const [what, make] of Object.entries(REFUSED)) {
    const refused = await refusal(ask(await make()))
    assert.equal(refused.code, 'ERR_GW_AUTH_INVALID_KEY', what)
    assert.equal(refused.message, unknown.message, what)
  }
})

test('clocks may differ by half a minute', async () => {
  const ask = gatewayWith()
  for (const claims of [{ exp: NOW / 1000 - 29 }, { nbf: NOW / 1000 + 29 }])
    assert.equal((await ask(await aToken(key, claims))).tenant, 'acme')
})

test('a token without the name of its key is refused if two keys fit, and accepted if one does', async () => {
  const nameless = await aSigningKey()
  const token = await aToken(nameless)
  assert.equal((await gatewayWith({}, [nameless])(token)).tenant, 'acme')
  const two = gatewayWith({}, [nameless, await aSigningKey()])
  assert.equal((await refusal(two(token))).code, 'ERR_GW_AUTH_INVALID_KEY')
})

test('a required claim must have one of its values, also in a list', async () => {
  const ask = gatewayWith({ require: { '/groups': ['a', 'b'] } })
  await ask(await aToken(key, { groups: ['x', 'b'] }))
  await ask(await aToken(key, { groups: 'a' }))
  const refused = await refusal(ask(await aToken(key, { groups: ['x'] })))
  assert.equal(refused.code, 'ERR_GW_AUTH_INVALID_KEY')
})

test('an unknown tenant is 403 and named; a map lists the known ones', async () => {
  const unknown = await refusal(gatewayWith()(await aToken(key, { team: 'unheard-of' })))
  assert.equal(unknown.code, 'ERR_GW_AUTH_SCOPE_DENIED')
  assert.match(unknown.message, /"unheard-of"/)
  const mapped = gatewayWith({ tenant: { claim: '/a.b~1c/team', map: { x: 'research' } } })
  assert.equal((await mapped(await aToken(key, { 'a.b/c': { team: 'x' } }))).tenant, 'research')
  const outside = await refusal(mapped(await aToken(key, { 'a.b/c': { team: 'toString' } })))
  assert.equal(outside.code, 'ERR_GW_AUTH_SCOPE_DENIED')
})

test('a claim may list the routes; unknown values give none', async () => {
  const from = { claim: '/roles', map: { dev: ['chat'], ops: ['batch'] } }
  const ask = gatewayWith({ routes_from: from })
  const { key: found } = await ask(await aToken(key, { roles: ['dev', 'guest', 'constructor'] }))
  assert.deepEqual(found.routes, new Set(['chat']))
})

test('a claim names routes one by one: a star in it is not a route, unless the map leads to it', async () => {
  const from = { claim: '/roles' }
  const ask = gatewayWith({ routes_from: from })
  const routesFor = async (roles: unknown) => (await ask(await aToken(key, { roles }))).key.routes
  assert.deepEqual(await routesFor(['*']), new Set())
  assert.deepEqual(await routesFor('*'), new Set())
  assert.deepEqual(await routesFor(['chat', '*']), new Set(['chat']))
  assert.deepEqual(await routesFor([]), new Set())
  const mapped = gatewayWith({ routes_from: { ...from, map: { '*': ['chat'] } } })
  const { key: found } = await mapped(await aToken(key, { roles: ['*'] }))
  assert.deepEqual(found.routes, new Set(['chat']))
})

test('the id of a token contains its issuer, so it is never that of a key, and long ones stay distinct', async () => {
  const ask = gatewayWith()
  const idOf = async (sub: string) => (await ask(await aToken(key, { sub }))).key.record.id
  assert.equal(await idOf('k'), 'idp:k')
  const long = 'x'.repeat(128)
  assert.equal(await idOf(long), `idp:${long}`)
  const ids = [await idOf(`${long}a`), await idOf(`${long}b`)]
  assert.equal(new Set(ids).size, 2)
  for (const id of ids) assert.equal(id.length, 'idp:'.length + 128)
})

test('two entries of one issuer are tried in turn', async () => {
  const strict = { require: { '/sub': ['bob'] }, name: 'strict', routes: ['batch'] }
  const ask = gatewayWith(strict, [key], [anIssuer({ routes: ['chat'] })])
  const routesFor = async (sub: string) => (await ask(await aToken(key, { sub }))).key.routes
  assert.deepEqual(await routesFor('bob'), new Set(['batch']))
  assert.deepEqual(await routesFor('alice'), new Set(['chat']))
})

/** The payload as it is written here. */
async function aWrittenToken(payload: string): Promise<string> {
  const sign = new CompactSign(Buffer.from(payload))
  return await sign.setProtectedHeader({ alg: key.alg, kid: 'one' }).sign(key.privateKey)
}

test('a name with an escape is the resolved claim, after any other token', async () => {
  const raw = String.raw
  const ask = gatewayWith()
  const usual = raw`"iss":"${ISSUER}","aud":"gw","exp":${NOW / 1000 + 600},"sub":"bob"`
  const head = part({ alg: 'ES256', kid: 'one' })
  for (const name of [raw`"tea\\"`, raw`"team":"acme","nb\\"`]) {
    const taught = Buffer.from(raw`{${usual},${name}:"x"}`).toString('base64url')
    await refusal(ask(`${head}.${taught}.aaaa`))
  }
  const { tenant } = await ask(await aWrittenToken(raw`{${usual},"tea\u006d":"acme"}`))
  assert.equal(tenant, 'acme')
  const early = raw`{${usual},"team":"acme","nb\u0066":${NOW / 1000 + 300}}`
  assert.equal((await refusal(ask(await aWrittenToken(early)))).code, 'ERR_GW_AUTH_INVALID_KEY')
})
