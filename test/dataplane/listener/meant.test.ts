/** The paths that misconfigured base URLs make, and their meaning. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { meantBy } from '../../../dataplane/listener/meant.ts'
import { apiOf } from '../../../dataplane/listener/table.ts'
import { wireFault } from '../../../dataplane/request/head-rules.ts'

const OFFERED = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/v1/responses/resp_1',
  '/v1/conversations',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/audio/transcriptions',
  '/v1/models',
  '/v1/models/team/chat',
  '/v1/models/team%2Fchat',
  '/v1/usage',
]

for (const path of OFFERED) {
  test(`${path} is found without /v1, with it twice, and with an extra slash`, () => {
    const bare = path.slice('/v1'.length)
    const written = [bare, `/${path}`, `/v1${path}`, `/v1/${bare}`, `/${bare}`]
    for (const one of [...written, path].flatMap((each) => [each, `${each}/`, `${each}?a=//b/`])) {
      const query = one.includes('?') ? '?a=//b/' : ''
      assert.deepEqual(meantBy(one), { url: path + query }, one)
    }
  })
}

test("Azure's paths name the model, and lead to the API", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['/openai/deployments/gpt/chat/completions', '/v1/chat/completions', 'gpt'],
    ['/openai/deployments/gpt/completions', '/v1/completions', 'gpt'],
    ['/openai/deployments/gpt/embeddings/', '/v1/embeddings', 'gpt'],
    ['//openai/deployments/gpt/responses', '/v1/responses', 'gpt'],
    ['/openai/deployments/team%2Fa%20b/chat/completions', '/v1/chat/completions', 'team/a b'],
    ['/openai/deployments/team/chat/chat/completions', '/v1/chat/completions', 'team/chat'],
  ]
  for (const [path, meant, model] of rows) {
    const url = `${meant}?api-version=2025-01-01-preview`
    assert.deepEqual(meantBy(`${path}?api-version=2025-01-01-preview`), { url, model })
  }
  assert.deepEqual(meantBy('/openai/responses?api-version=v1'), {
    url: '/v1/responses?api-version=v1',
  })
  assert.deepEqual(meantBy('/openai/v1/chat/completions'), { url: '/v1/chat/completions' })
})

test('/v2/rerank has no other version, and extra slashes are accepted', () => {
  for (const path of ['//v2/rerank', '/v2/rerank/', '/v1/v2/rerank'])
    assert.deepEqual(meantBy(path), { url: '/v2/rerank' })
})

const STRICT = [
  '/',
  '/v1',
  '/v1/',
  '/healthz/',
  '//healthz',
  '/v1/healthz',
  '/V1/chat/completions',
  '/v1/Chat/completions',
  '/v1/chat//completions',
  '/v1/chat/completions//',
  '///v1/chat/completions',
  '/v1/v1/v1/chat/completions',
  '/%761/chat/completions',
  '/v1/chat/completion%73',
  '/v1;a=b/chat/completions',
  '/v1/../v1/chat/completions',
  '/v1/models//chat',
  '/debug/echo-headers',
  '//v1/debug/echo-headers',
  '/v1/debug/echo-headers/',
  '/openai/deployments/../chat/completions',
  '/openai/deployments/a/../b/chat/completions',
  '/openai/deployments/a%2f%2e%2e%2fb/chat/completions',
  '/openai/deployments/./chat/completions',
  '/openai/deployments/a%00/chat/completions',
  '/openai/deployments/a%5cb/chat/completions',
  '/openai/deployments/%zz/chat/completions',
  '/openai/deployments/gpt/chat/completions//',
  '/openai/deployments/gpt/chat/completion%73',
]

for (const path of STRICT) {
  test(`${path} keeps its meaning`, () => assert.deepEqual(meantBy(path), { url: path }))
}

test('a refused target stays refused, and dots lead nowhere', () => {
  const piece = fc.constantFrom(
    ...['/', '//', 'v1', 'v2', 'openai', 'deployments', 'chat', 'completions', 'models', 'rerank'],
    ...['..', '.', '%2e%2e', '%2f', '%00', '%5c', '\\', '#', '?', 'a', ';', '%', ' ', '\u00e9'],
  )
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 9 }), (pieces) => {
      const target = `/${pieces.join('/')}`.replaceAll('///', '/')
      const { url, model } = meantBy(target)
      const [path = ''] = url.split('?')
      if (url !== target) assert.notEqual(apiOf({ method: 'POST', url }).path, undefined)
      const headed = { rawHeaders: ['Host', 'a'], header: () => 'a' }
      const wasFault = wireFault({ ...headed, url: target }, '1.1') !== undefined
      const isFault = wireFault({ ...headed, url }, '1.1') !== undefined
      // Only an encoded slash in the name of a model may be in one spelling and not in the other.
      const isName = model !== undefined || path.startsWith('/v1/models/')
      if (!isName) assert.equal(isFault, wasFault, target)
      assert.doesNotMatch(model ?? '', /(^|\/)\.\.?(\/|$)|[\0\\#]/)
    }),
    { numRuns: 2000 },
  )
})
