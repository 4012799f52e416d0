/** Tags in headers of other gateways: what each of them sends, and any text at all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { keyOf } from '../../../dataplane/call/key-entry.ts'
import { tagsOf } from '../../../dataplane/usage/tags.ts'
import { KEY } from '../request/stages/keys.ts'

const USAGE = {
  tags: ['team', 'feature', 'label'],
  tag_headers: [
    { header: 'X-LiteLLM-Tags', tag: 'label' },
    { header: 'cf-aig-metadata' },
    { header: 'x-portkey-metadata' },
  ],
}

type Given = Readonly<Record<string, string>>

function tagged(given: Given, metadata?: Readonly<Record<string, unknown>>, key = KEY): string {
  return tagsOf(USAGE, key.tags, { header: (name) => given[name] }, metadata)
}

const LITELLM = 'x-litellm-tags'
const CLOUDFLARE = 'cf-aig-metadata'
const PORTKEY = 'x-portkey-metadata'

for (const [name, header, tags] of [
  [LITELLM, 'team-api,production,us-east-1', 'label=team-api'],
  [LITELLM, 'production, team:blue , feature=chat', 'team=blue,feature=chat,label=production'],
  [LITELLM, 'app:lab,run:first', 'label=app:lab'],
  [LITELLM, 'label:a,b', 'label=a'],
  [LITELLM, 'teams:blue,team', 'label=teams:blue'],
  [LITELLM, 'team:a b', 'team=invalid'],
  [LITELLM, 'team:', 'team=invalid'],
  [LITELLM, ' , ,', ''],
  [LITELLM, '["a","b"]', 'label=invalid'],
  [CLOUDFLARE, '{"team": "AI", "user": 12345, "test": true}', 'team=AI'],
  [CLOUDFLARE, '{"team": 7, "feature": false}', 'team=7,feature=false'],
  [CLOUDFLARE, '{"team": null, "feature": {"a": 1}}', 'feature=invalid'],
  [CLOUDFLARE, '{"team": "blue", "team": "red"}', 'team=red'],
  [CLOUDFLARE, 'a,b', ''],
  [PORTKEY, '{"_user": "u-1", "feature": "chat-assist"}', 'feature=chat-assist'],
  [PORTKEY, `{"team": "${'x'.repeat(65)}"}`, 'team=invalid'],
  [PORTKEY, '{"__proto__": {"team": "x"}, "constructor": "y"}', ''],
] as const) {
  test(`the tags of ${name}: ${header.slice(0, 60)} are ${JSON.stringify(tags)}`, () => {
    assert.equal(tagged({ [name]: header }), tags)
  })
}

test('a key wins over X-Gw-Tags, that over the first header of the list, and that over the body', () => {
  const key = keyOf({ ...KEY.record, tags: { team: 'key' } })
  const given = {
    'x-gw-tags': 'team=own,feature=own',
    [LITELLM]: 'team:other,feature:other,label:first',
    [CLOUDFLARE]: '{"team":"third","label":"third"}',
  }
  const body = { team: 'body', feature: 'body', label: 'body' }
  assert.equal(tagged(given, body, key), 'team=key,feature=own,label=first')
  assert.equal(tagged({ [CLOUDFLARE]: '{"team":"c"}' }, body), 'team=c,feature=body,label=body')
})

test('a header that cannot be read hides no other source, and else counts as invalid', () => {
  for (const broken of [
    '{"team":',
    '{team: 1}',
    '{"team":"a"}, {"team":"b"}',
    `{"a":"${'x'.repeat(2048)}"}`,
  ]) {
    const given = { [CLOUDFLARE]: broken, [PORTKEY]: '{"team":"blue"}' }
    assert.equal(tagged(given, { feature: 'f' }), 'team=blue,feature=f,label=invalid', broken)
  }
  assert.equal(
    tagged({ [LITELLM]: 'x,'.repeat(1025) }),
    'team=invalid,feature=invalid,label=invalid',
  )
})

test('without the setting, headers of other gateways are not asked for', () => {
  const asked: string[] = []
  const header = (name: string) => void asked.push(name)
  assert.equal(tagsOf({ tags: ['team'], tag_headers: [] }, undefined, { header }), '')
  assert.deepEqual(asked, ['x-gw-tags'])
})

const SHOWN = /^[A-Za-z0-9_.:/@-]{1,64}$/
const piece = fc.constantFrom(
  'team',
  'label',
  ':',
  '=',
  ',',
  '{',
  '}',
  '"',
  '[',
  '\\',
  ' ',
  'é',
  '\u0000',
  'null',
  '1e9',
)
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 3000 }),
  fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
  fc.json(),
  fc
    .dictionary(fc.constantFrom(...USAGE.tags, 'other'), fc.jsonValue())
    .map((one) => JSON.stringify(one)),
)

test('no text of any header throws, sets an undeclared tag, or a value that reports may not show', () => {
  const headers = fc.record({
    'x-gw-tags': text,
    [LITELLM]: text,
    [CLOUDFLARE]: text,
    [PORTKEY]: text,
  })
  fc.assert(
    fc.property(headers, (given) => {
      const tags = tagged(given)
      const pairs = tags === '' ? [] : tags.split(',').map((pair) => pair.split('='))
      const names = pairs.map(([name]) => name)
      assert.deepEqual(
        names,
        USAGE.tags.filter((name) => names.includes(name)),
      )
      for (const pair of pairs) {
        assert.equal(pair.length, 2)
        assert.match(pair[1] ?? '', SHOWN)
      }
    }),
    { numRuns: 2000 },
  )
})

test('a written tag is read back, in all three forms', () => {
  const value = fc.stringMatching(SHOWN)
  fc.assert(
    fc.property(value, value, (team, feature) => {
      const tags = `team=${team},feature=${feature}`
      const json = JSON.stringify({ other: 'x', team, feature })
      assert.equal(tagged({ [LITELLM]: `team:${team}, feature=${feature}` }), tags)
      assert.equal(tagged({ [CLOUDFLARE]: json }), tags)
      assert.equal(tagged({ [PORTKEY]: json }), tags)
    }),
  )
})
