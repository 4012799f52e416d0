/** Where a model leads, and who may go there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../dataplane/errors.ts'
import { authenticate } from '../../../dataplane/stages/authenticate.ts'
import { match } from '../../../dataplane/stages/match.ts'
import { aSnapshot, aVisit } from './visits.ts'

const snapshot = aSnapshot([
  { id: 'all' },
  { id: 'batch-only', routes: ['batch'] },
  { id: 'lists-only', scopes: ['models:list'] },
])

function matched(model: string, id = 'all') {
  const visit = aVisit(snapshot, { 'x-api-key': `key-${id}` })
  const caller = authenticate(visit)
  return { visit, route: () => match(model, caller, visit).name }
}

function refusal(model: string, id?: string): GatewayError {
  try {
    matched(model, id).route()
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return error
  }
  return assert.fail(`${model} was matched`)
}

test('a route and an alias lead to the route, and the answer names it', () => {
  for (const model of ['chat', 'gpt-4o']) {
    const { visit, route } = matched(model)
    assert.equal(route(), 'chat')
    assert.equal(visit.response.route, 'chat')
    assert.equal(visit.trace.model, model)
  }
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

test('a route that the key may not use is denied, by its alias too', () => {
  for (const model of ['chat', 'gpt-4o']) {
    const error = refusal(model, 'batch-only')
    assert.equal(error.code, 'ERR_GW_AUTH_SCOPE_DENIED')
    assert.match(error.message, /may not use route "chat".*: batch\./)
  }
  assert.equal(matched('batch', 'batch-only').route(), 'batch')
})

test('a key that may only list invokes nothing', () => {
  assert.match(refusal('chat', 'lists-only').message, /lacks the scope models:invoke/)
})

test('a model that nobody configured is shown short, and without what a terminal would obey', () => {
  const { visit, route } = matched(`\x1b[31m\r\n\u009b\u2028${'m'.repeat(1000)}`)
  assert.throws(route)
  assert.equal(visit.trace.model?.length, 101)
  assert.doesNotMatch(String(visit.trace.model), /[\p{Cc}\u2028]/u)
  assert.doesNotMatch(refusal('\x1b\n').message, /\p{Cc}/u)
})
