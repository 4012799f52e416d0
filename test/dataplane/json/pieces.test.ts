/** JSON parsed in pieces: the same value as in one step, the same mistakes, and never a long piece. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { atOnce } from '../../../dataplane/base/steps.ts'
import { MembersError, MembersScan } from '../../../dataplane/json/members.ts'
import { parseInPieces } from '../../../dataplane/json/steps/pieces.ts'
import { cases } from '../../helpers/cases.ts'

/** Small enough that many values of a random body are long for it, but no number. */
const PIECE_BYTES = 32

function parsed(bytes: Buffer, keeps: (name: string) => boolean = () => true): unknown {
  const scan = new MembersScan(bytes, PIECE_BYTES)
  scan.run(bytes.length)
  return atOnce(parseInPieces(bytes, scan, { keeps }))
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 120 }),
  fc.stringMatching(/^[\\"nu0-9a-f]{0,120}$/),
)
/** Without characters that need escapes: JSON.parse of V8 sometimes confuses two such names. */
const name = fc
  .string({ unit: 'binary', maxLength: 60 })
  .map((one) => one.replaceAll(/[\\"\p{Cc}\p{Cs}\u2028\u2029]/gu, ''))
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(text, fc.integer(), fc.double({ noNaN: true }), fc.constantFrom(null, true, false)),
    fc.array(tie('tree'), { maxLength: 6 }),
    fc.dictionary(fc.oneof(name, fc.constantFrom('__proto__', 'a')), tie('tree'), { maxKeys: 8 }),
  ),
}))
const object = fc
  .tuple(fc.dictionary(name, tree, { maxKeys: 8 }), fc.constantFrom(undefined, 1, '\t\r\n '))
  .map(([value, space]) => JSON.stringify(value, null, space))
  .filter((written) => !/"N"/.test(written))

/** Every character as an escape, so that no cut may fall inside one. */
function escaped(json: string): string {
  return json.replaceAll(
    /[\u0080-\uffff]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

test('the pieces make the value that JSON.parse makes', () => {
  fc.assert(
    fc.property(object, fc.boolean(), (written, isEscaped) => {
      const json = isEscaped ? escaped(written) : written
      assert.deepStrictEqual(
        JSON.stringify(parsed(Buffer.from(json))),
        JSON.stringify(JSON.parse(json)),
      )
    }),
    { numRuns: cases(300, 1500) },
  )
})

test('a text that JSON.parse refuses is refused, and one that it accepts is accepted', () => {
  const mutated = fc
    .tuple(object, fc.nat(), fc.constantFrom(...'{}[],:"\\ 0-e.tnfu'), fc.nat(2))
    .map(([json, place, sign, cut]) => {
      const at = place % json.length
      return json.slice(0, at) + sign + json.slice(at + cut)
    })
  fc.assert(
    fc.property(mutated, fc.boolean(), (json, isKept) => {
      const bytes = Buffer.from(json)
      try {
        JSON.parse(bytes.toString())
      } catch {
        assert.throws(() => parsed(bytes, () => isKept), MembersError, json)
        return
      }
      try {
        parsed(bytes)
      } catch (error) {
        // The scan refuses more: a text that is not an object, and a repeated deciding member.
        assert.ok(error instanceof MembersError, json)
        assert.throws(() => new MembersScan(bytes).run(bytes.length), MembersError, json)
      }
    }),
    { numRuns: cases(500, 4000) },
  )
})

test('long members that no reader needs are not in the tree', () => {
  const body = { model: 'm', long: 'x'.repeat(40), list: [Array(20).fill(1)], few: [1] }
  const kept = parsed(Buffer.from(JSON.stringify(body)), (name) => name === 'long')
  assert.deepEqual(kept, { model: 'm', long: body.long, few: [1] })
})

test('a string is never cut inside a character or an escape', () => {
  for (const unit of ['é', '漢', '😀', '\\', '"', '\\"', 'a\n', '\u2028', 'ab\\u', '\\\\u0041']) {
    const body = { a: `${unit.repeat(200)}b`, b: [`c${unit.repeat(201)}`] }
    for (const json of [JSON.stringify(body), escaped(JSON.stringify(body))]) {
      assert.deepEqual(parsed(Buffer.from(json)), body)
    }
  }
})
