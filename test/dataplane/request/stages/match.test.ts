/** The route of a model, and who may use it. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { GatewayError } from '../../../../dataplane/base/errors.ts'
import type { Caller } from '../../../../dataplane/call/call.ts'
import type { Snapshot } from '../../../../dataplane/config/snapshot.ts'
import { match, permit } from '../../../../dataplane/request/stages/match.ts'
import { callerWithKey } from '../../headed.ts'
import { aSnapshot, aSnapshotOf, NOW } from './snapshots.ts'

const snapshot = aSnapshot([
  { id: 'all' },
  { id: 'batch-only', routes: ['batch'] },
  { id: 'lists-only', scopes: ['models:list'] },
])

function callerWith(id: string, of: Snapshot): Caller {
  return callerWithKey({ 'x-api-key': `key-${id}` }, of, NOW)
}

function matched(model: string, id = 'all', of = snapshot): string {
  return match(model, callerWith(id, of), of, NOW).name
}

function refusal(model: string, id?: string, of?: Snapshot): GatewayError {
  try {
    matched(model, id, of)
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return error
  }
  return assert.fail(`${model} was matched`)
}

test('a route and an alias lead to the route', () => {
  for (const model of ['chat', 'gpt-4o']) assert.equal(matched(model), 'chat')
})

test('of a name and patterns the exact one wins, then the longest', () => {
  const aliases = { '*': 'batch', 'gpt-4*': 'chat', 'gpt-4-batch': 'batch' }
  const of = aSnapshot([{ id: 'all' }], aliases)
  const rows = {
    'gpt-4o-mini': 'chat',
    'gpt-4': 'chat',
    'gpt-4-batch': 'batch',
    o3: 'batch',
    chat: 'chat',
  }
  for (const [model, route] of Object.entries(rows)) assert.equal(matched(model, 'all', of), route)
  assert.deepEqual(
    [...of.models].map(([name]) => name),
    ['chat', 'batch', 'gpt-4-batch'],
  )
  assert.match(
    refusal('o3', 'all', aSnapshot([{ id: 'all' }], { 'gpt-4*': 'chat' })).message,
    /use: gpt-4\*, chat/,
  )
})

for (const model of [
  'Chat',
  'chat ',
  '*',
  '__proto__',
  'constructor',
  'toString',
  'cha',
  'chat/x',
  '🦜',
]) {
  test(`${model} is no route`, () => {
    const error = refusal(model)
    assert.equal(error.code, 'ERR_GW_ROUTE_NOT_FOUND')
    assert.equal(error.details.param, 'model')
    assert.equal(error.final, true)
  })
}

test('an unknown model offers only what the key may use', () => {
  assert.match(refusal('x').message, /chat, batch/)
  assert.doesNotMatch(refusal('x', 'batch-only').message, /chat/)
})

test('an unknown model offers aliases first, then routes, up to a bound', () => {
  assert.match(refusal('x').message, /This key may use: gpt-4o, chat, batch\.$/)
  assert.match(refusal('x', 'batch-only').message, /This key may use: batch\.$/)
  const aliases = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`a${at}`, 'chat']))
  const { message } = refusal('x', 'all', aSnapshot([{ id: 'all' }], aliases))
  assert.match(message, /: a0, a1, .*, a19, …\.$/)
})

test('an unknown model that looks like a key is shown without it, in the answer and in the trace', () => {
  const key = 'gw_live_client_0pQ7rS8tU9vW0xY1zA2bC3dE4fG5hI6jK7lM8nO9pQ0rS1tU2v'
  const { message, details } = refusal(key)
  assert.deepEqual(details.learnt, { model: 'gw_***' })
  assert.match(message, /"gw_\*\*\*"/)
})

test('a route that the key may not use is denied by the name that was sent, and the answer names no other', () => {
  for (const model of ['chat', 'gpt-4o']) {
    const error = refusal(model, 'batch-only')
    assert.equal(error.code, 'ERR_GW_AUTH_SCOPE_DENIED')
    assert.match(error.message, new RegExp(`may not use "${model}"\\. .*: batch\\.`))
    assert.deepEqual(error.details.learnt, model === 'chat' ? { model, route: model } : { model })
    if (model !== 'chat') assert.doesNotMatch(error.message, /chat/)
  }
  assert.equal(matched('batch', 'batch-only'), 'batch')
})

test('a key that may only list cannot invoke, with any body', () => {
  assert.throws(() => permit(callerWith('lists-only', snapshot)), /lacks the scope models:invoke/)
})

test('an unknown model is shown short, and without control characters of terminals', () => {
  const { learnt } = refusal(`\x1b[31m\r\n\u009b\u2028${'m'.repeat(1000)}`).details
  assert.equal(learnt?.model?.length, 101)
  assert.doesNotMatch(String(learnt?.model), /[\p{Cc}\u2028]/u)
  assert.doesNotMatch(refusal('\x1b\n').message, /\p{Cc}/u)
})

const DAY = 86_400_000
const dayAt = (time: number) => new Date(time).toISOString().slice(0, 10)
const HASH = `sha256:${hash('sha256', 'key-all')}`

/** `old` is an alias of chat that has ended; `chat` ends tomorrow. */
function withEnds(end: object): Snapshot {
  const single = (name: string) => ({ name, strategy: 'single', primary: 'up' })
  const until = dayAt(NOW + DAY)
  return aSnapshotOf({
    routes: [{ ...single('chat'), deprecated: { since: '2026-01-01', until } }, single('batch')],
    aliases: {
      old: { route: 'chat', deprecated: { since: '2026-01-01', until: dayAt(NOW), ...end } },
      gpt: 'chat',
    },
    api_keys: [{ id: 'all', tenant: 'acme', routes: ['chat'], hash: HASH }],
  })
}

test('from its end on a name is not found, and the refusal names the successor', () => {
  const ended = withEnds({ successor: 'batch' })
  const { message, code, details } = refusal('old', 'all', ended)
  assert.equal(code, 'ERR_GW_ROUTE_NOT_FOUND')
  assert.equal(message, `Model "old" is not served since ${dayAt(NOW)}. Use "batch" instead.`)
  assert.deepEqual(details.learnt?.sunset?.headers.slice(0, 2), ['deprecation', '@1767225600'])
  assert.equal(matched('chat', 'all', ended), 'chat')
  assert.equal(matched('gpt', 'all', ended), 'chat')
})

test('a successor serves a name that redirects, although the key names only the name', () => {
  const ended = withEnds({ successor: 'batch', then: 'redirect' })
  assert.equal(matched('old', 'all', ended), 'batch')
  assert.equal(refusal('batch', 'all', ended).code, 'ERR_GW_AUTH_SCOPE_DENIED')
})

test('the offer of names leaves out those that have ended', () => {
  assert.match(refusal('none', 'all', withEnds({})).message, /This key may use: gpt, chat\.$/)
})
