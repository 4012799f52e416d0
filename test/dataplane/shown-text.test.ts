/** Texts of clients in logs, traces and answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maskKeys, shownFailure, shownName, shownPath } from '../../dataplane/base/shown-text.ts'

const KEY = 'gw_live_client_0pQ7rS8tU9vW0xY1zA2bC3dE4fG5hI6jK7lM8nO9pQ0rS1tU2v'

test('a path is shown without its query, short, and in visible ASCII', () => {
  assert.equal(shownPath('/v1/models?key=secret&a=/b'), '/v1/models')
  assert.equal(shownPath(`/${'a'.repeat(1000)}`).length, 200)
  assert.equal(shownPath('/a\x1b[31m\xe9'), '/a?[31m?')
  assert.equal(shownPath('/v1/models/llama%203%2F8b'), '/v1/models/llama%203%2F8b')
  assert.equal(shownPath('/%zz'), '/%zz')
})

const PLACES: readonly (readonly [text: string, shown: string])[] = [
  [`/v1/models/${KEY}`, '/v1/models/gw_***'],
  [`/v1/${KEY}/chat`, '/v1/gw_***/chat'],
  [`/v1/models/${KEY.replace('g', '%67')}`, '/v1/models/gw_***'],
  [`/v1/models/${KEY.replaceAll('_', '%5F')}`, '/v1/models/gw_***'],
  ['/v1/sk-proj-abcdefghijklmnop', '/v1/sk-***'],
  ['/v1/Bearer%20abcdefghijkl', '/v1/Bearer***'],
  [`/v1/models/${'a'.repeat(180)}/${KEY}`, `/v1/models/${'a'.repeat(180)}/gw_***`],
]

for (const [path, shown] of PLACES) {
  test(`the key in ${path.slice(0, 40)} is masked`, () => assert.equal(shownPath(path), shown))
}

test('keys are masked anywhere in a text', () => {
  assert.equal(maskKeys(`a ${KEY}, b "${KEY}"`), 'a gw_***, b "gw_***"')
  assert.equal(
    maskKeys('Incorrect API key provided: sk-abc*****xyz.'),
    'Incorrect API key provided: sk-***.',
  )
  assert.equal(maskKeys('authorization: bearer eyJhbGciOi.J9'), 'authorization: bearer***')
})

test("an upstream's facts about its network are not shown", () => {
  const said =
    'connect ECONNREFUSED 10.0.3.4:8000, [fd00::1]:443: UND_ERR_SOCKET, HPE_INVALID_CONSTANT'
  assert.equal(shownFailure(said), 'connect (error) (address), (address): (error), (error)')
  const ordinary = 'CUDA out of memory in v1.2.3; ERROR [a:b]: EOS, 12:30:45'
  assert.equal(shownFailure(ordinary), ordinary)
})

test('ordinary words stay', () => {
  for (const text of [
    'risk-averse task-force desk-sized',
    'Send "Authorization: Bearer <key>".',
    'the bearer of it',
    'gw_x',
    'llama-3.1-8b-instruct',
  ]) {
    assert.equal(maskKeys(text), text)
  }
})

test('a name is shown without keys, short, and without control characters of a terminal', () => {
  assert.equal(shownName(KEY), 'gw_***')
  assert.equal(shownName('\x1b[31m\u2028'), '\ufffd[31m\ufffd')
  assert.equal(shownName('m'.repeat(1000)), `${'m'.repeat(100)}…`)
})

test('64 KiB of any text are masked at once', () => {
  for (const piece of ['gw_', 'sk-', 'bearer ', 'bearer+', 'bearer%20', '+', ' ', 'a']) {
    const text = `bearer${piece.repeat(65_536 / piece.length)}`
    const times = Array.from({ length: 5 }, () => {
      const start = performance.now()
      maskKeys(text)
      return performance.now() - start
    })
    assert.ok(Math.min(...times) < 100, piece)
  }
})
