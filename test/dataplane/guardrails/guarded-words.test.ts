/**
 * On a route with guardrails an upstream reads no word that the guardrails were not shown, for any request, in every
 * API.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { textsOf } from '../../../dataplane/guardrails/request-texts.ts'
import { writtenAnew } from '../../../dataplane/guardrails/written-anew.ts'
import { parsed } from '../../../dataplane/json/values.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { pairOf } from '../../../dataplane/translation/pair.ts'
import { Unsupported } from '../../../dataplane/wire/unsupported.ts'
import { cases } from '../../helpers/cases.ts'
import { someSettings } from '../../helpers/providers/a-request.ts'
import { type Json, LEGAL, type Legal } from './legal-requests.ts'
import { changed, changes } from './odd-requests.ts'

const settings = someSettings({ model: 'upstream-model' })

/**
 * The words that an upstream reads, and those shown to the guardrails; undefined if the upstream cannot take the
 * request.
 */
async function sent(
  { dialect }: Legal,
  body: string,
  provider: string,
): Promise<{ readonly shown: readonly string[]; readonly read: unknown } | undefined> {
  const one = PROVIDERS.get(provider) ?? assert.fail(provider)
  const pair = pairOf(dialect, one)
  if (pair === undefined) return undefined
  try {
    const asked = parseRequest(Buffer.from(body), dialect.reading, 7)
    const request = await writtenAnew(asked, 'guarded')
    const shown = textsOf(request).map(({ text }) => text)
    const { body: bytes } = pair.encode(request, settings, 9)
    return { shown, read: JSON.parse(String(bytes)) }
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    if (!(error instanceof GatewayError)) throw error
    assert.equal(error.code, 'ERR_GW_INVALID_REQUEST')
    throw new Refused(error)
  }
}

class Refused extends Error {
  readonly refusal: GatewayError
  constructor(refusal: GatewayError) {
    super(refusal.message)
    this.refusal = refusal
  }
}

interface Leaf {
  readonly text: string
  /** The member that contains it, or whose name it is. */
  readonly member: string
}

function leavesOf(value: unknown, member = ''): Leaf[] {
  if (typeof value === 'string') {
    const inner = member === 'schema' ? parsed(value) : undefined
    return inner === undefined ? [{ text: value, member }] : leavesOf(inner, member)
  }
  if (Array.isArray(value)) return value.flatMap((one) => leavesOf(one, member))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => [
    ...(holdsNothing(name, one, member) ? [] : [{ text: name, member: '(name)' }]),
    ...leavesOf(one, name),
  ])
}

/** A non-text parameter of a runtime, at the top level; a member without a value, anywhere. */
function holdsNothing(name: string, value: unknown, member: string): boolean {
  if (!/^[A-Za-z_][\w-]{0,63}$/.test(name)) return false
  if (value === null || (Array.isArray(value) && value.length === 0)) return true
  return member === '' && (typeof value === 'number' || typeof value === 'boolean')
}

/** Words of the APIs and of the gateway, ids of calls, pictures. */
const OWN_WORDS: ReadonlySet<string> = new Set([
  ...[
    'upstream-model',
    '.',
    'Answer with one JSON object and nothing else.',
    'models/upstream-model',
  ],
  ...['user', 'assistant', 'system', 'developer', 'tool', 'model', 'USER', 'SYSTEM', 'CHATBOT'],
  ...['text', 'image_url', 'function', 'json_schema', 'json_object', 'json', 'content', 'custom'],
  ...['auto', 'none', 'any', 'required', 'REQUIRED', 'AUTO', 'ANY', 'NONE', 'tool_use', 'enabled'],
  ...['tool_result', 'thinking', 'adaptive', 'disabled', 'image', 'base64', 'image/png', 'png'],
  ...['ephemeral', 'default', 'standard_only', 'low', 'medium', 'high', 'VALIDATED', 'success'],
  ...['string', 'object', 'OBJECT', 'STRING', 'array', 'number', 'float', 'search_document', 'END'],
  ...['application/json', 'structured', 'refusal', 'auto-default', 'document', 'int8', 'BLOCK'],
])
const ID = /^[\w.:|/-]{1,128}$/
const IDS = ['id', 'tool_call_id', 'tool_use_id', 'toolUseId']
const SEALED = [
  'signature',
  'data',
  'bytes',
  'thought_signature',
  'thoughtSignature',
  'url',
  'images',
]

function isKnown({ text, member }: Leaf, shown: string): boolean {
  if (OWN_WORDS.has(text) || text === '') return true
  if (IDS.includes(member) && ID.test(text)) return true
  if (SEALED.includes(member) && /^(?:[\w+/=-]*|https?:.*|data:image.*)$/.test(text)) return true
  return shown.includes(text) || shown.includes(JSON.stringify(text).slice(1, -1))
}

/** Names of members that the gateway writes, and those of the APIs and of JSON Schema. */
const names = new Set<string>([
  ...['title', 'description', 'type', 'reasoning', 'refusal', 'metadata', 'suffix', 'user', 'name'],
  ...['functions', 'response_format', 'prediction', 'web_search_options', 'tool_call_id', 'tools'],
  ...['chat_template_kwargs', 'text', 'content', 'arguments', 'role', 'id', 'messages', 'input'],
  ...['tool_plan', 'strict'],
])

function unseen({ shown, read }: { shown: readonly string[]; read: unknown }): Leaf[] {
  const all = shown.join('\n')
  return leavesOf(read).filter(
    (leaf) => !(leaf.member === '(name)' && names.has(leaf.text)) && !isKnown(leaf, all),
  )
}

const PAIRS = LEGAL.flatMap((legal) =>
  [...PROVIDERS.keys()].flatMap((provider) =>
    pairOf(legal.dialect, PROVIDERS.get(provider) ?? assert.fail()) ? [{ legal, provider }] : [],
  ),
)
const withModel = (body: Json): Json => ({ model: 'guarded', ...body })

test('every word of a legal request that an upstream reads has been shown', async () => {
  let count = 0
  for (const { legal, provider } of PAIRS) {
    for (const body of legal.bodies) {
      const all = await sent(legal, JSON.stringify(withModel(body)), provider)
      if (all === undefined) continue
      for (const { text, member } of leavesOf(all.read)) {
        count++
        if (member === '(name)' && /^[A-Za-z_]{1,40}$/.test(text)) names.add(text)
      }
      assert.deepEqual(unseen(all), [], `${legal.dialect.wire} at ${provider}`)
    }
  }
  assert.ok(count > 1_000, String(count))
})

test('odd members in random places are shown or refused by name, in every API and at every provider', async (context) => {
  const counts = { leaves: 0, served: 0, refused: 0, unable: 0 }
  const pairs = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.nat(PAIRS.length - 1), fc.nat(9), changes, async (pair, at, all) => {
      const { legal, provider } = PAIRS[pair] ?? assert.fail()
      const body = withModel(legal.bodies[at % legal.bodies.length] ?? assert.fail())
      try {
        const made = await sent(legal, changed(body, all), provider)
        if (made === undefined) {
          counts.unable++
          return
        }
        pairs.add(`${legal.dialect.wire} at ${provider}`)
        counts.served++
        counts.leaves += leavesOf(made.read).length
        assert.deepEqual(unseen(made), [])
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        counts.refused++
      }
    }),
    { numRuns: cases(2_000, 100_000), seed: 1 },
  )
  context.diagnostic(`${JSON.stringify(counts)} over ${pairs.size} of ${PAIRS.length} pairs`)
  assert.ok(counts.served > 200 && counts.refused > 500, JSON.stringify(counts))
})
