/** Members of a JSON object in its bytes: the values that a parser would see, and splices that change nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  MembersError,
  MembersScan,
  PIECE_BYTES,
  scanMembers,
  VALUES_MAX,
} from '../../dataplane/json/members.ts'
import { splice } from '../../dataplane/json/splice.ts'
import { cases } from '../helpers/cases.ts'

const SINGLE = [
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'stream',
  'stream_options',
]

/** "N" is refused: it could be read as "n". */
const name = fc
  .oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...SINGLE, '__proto__', '"', '\\', ''))
  .filter((text) => text !== 'N')
const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' })
const space = fc.constantFrom('', '', ' ', '\n', '\r\n\t')

/** An object as text with random space, from names that are all different. */
const written = fc
  .tuple(fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: 8 }), space)
  .map(([members, gap]) => {
    const texts = members.map(([key, item]) =>
      [JSON.stringify(key), ':', JSON.stringify(item, null, gap === '' ? undefined : 1)].join(gap),
    )
    return { members, text: `${gap}{${gap}${texts.join(`${gap},${gap}`)}${gap}}${gap}` }
  })

test('the spans of random objects hold what JSON.parse reads', () => {
  fc.assert(
    fc.property(written, ({ members, text }) => {
      const bytes = Buffer.from(text)
      const spans = scanMembers(bytes)
      assert.equal(spans.size, members.length)
      for (const [key, item] of members) {
        const span = [...spans].find(([found]) => sameName(found, key))?.[1]
        assert.ok(span, JSON.stringify(key))
        assert.deepEqual(JSON.parse(bytes.toString('utf8', span.start, span.end)), normal(item))
      }
    }),
    { numRuns: cases(1000, 5000) },
  )
})

/** Unescaped names stay bytes, because all looked-up names are ASCII. */
function sameName(found: string, key: string): boolean {
  return found === key || found === Buffer.from(key).toString('latin1')
}

function normal(item: unknown): unknown {
  return JSON.parse(JSON.stringify(item))
}

test('splicing one value changes no other byte', () => {
  fc.assert(
    fc.property(written, value, fc.nat(), ({ members, text }, put, drawn) => {
      fc.pre(members.length > 0)
      const bytes = Buffer.from(text)
      const spans = [...scanMembers(bytes).values()]
      const span = spans[drawn % spans.length]
      assert.ok(span)
      const spliced = splice(bytes, [{ ...span, text: JSON.stringify(put) }])
      const tail = bytes.length - span.end
      assert.ok(spliced.subarray(0, span.start).equals(bytes.subarray(0, span.start)))
      assert.ok(spliced.subarray(spliced.length - tail).equals(bytes.subarray(span.end)))
      const expected = members.map(([key, item], at) => [
        key,
        at === drawn % spans.length ? put : item,
      ])
      assert.deepEqual(JSON.parse(spliced.toString()), normal(Object.fromEntries(expected)))
    }),
    { numRuns: cases(1000, 5000) },
  )
})

test('splicing nothing changes nothing', () => {
  const bytes = Buffer.from(' {"a":1}\n')
  assert.ok(splice(bytes, []).equals(bytes))
})

test('a missing part is reported, with its position', () => {
  const said: readonly (readonly [text: string, message: RegExp])[] = [
    ["{'model':'chat'}", /a name in double quotes is missing at position 1\.$/],
    ['{"a" 1}', /a colon is missing at position 5\.$/],
    ['{"a":1 "b":2}', /a comma or "}" is missing at position 7\.$/],
    ['{"a":}', /a value is missing at position 5\.$/],
  ]
  for (const [text, message] of said) {
    assert.throws(() => scanMembers(Buffer.from(text)), { message }, text)
  }
})

test('random bytes and changed objects end in spans or a MembersError, and never in another error', () => {
  const mutated = fc.tuple(written, fc.nat(), fc.nat(255)).map(([{ text }, place, byte]) => {
    const bytes = Buffer.from(text)
    bytes[place % bytes.length] = byte
    return bytes
  })
  const random = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from([0x7b, ...bytes]))
  fc.assert(
    fc.property(fc.oneof(mutated, random), (bytes) => {
      try {
        for (const { start, end } of scanMembers(bytes).values()) assert.ok(start < end)
      } catch (error) {
        assert.ok(error instanceof MembersError)
      }
    }),
    { numRuns: cases(2000, 20_000) },
  )
})

test('the scan reads what JSON.parse accepts with unique members the same way', () => {
  const key = fc.constantFrom(
    '"model"',
    '"\\u006dodel"',
    '"mod\\u0065l"',
    '"model "',
    '"n"',
    '"\\u006E"',
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.nat()), { maxLength: 4 }), (members) => {
      const text = `{${members.map(([raw, item]) => `${raw}:${item}`).join()}}`
      const names = members.map(([raw]) => JSON.parse(raw))
      const twice = names.some((one, at) => SINGLE.includes(one) && names.indexOf(one) !== at)
      if (twice) assert.throws(() => scanMembers(Buffer.from(text)), MembersError)
      else assert.deepEqual(new Set(scanMembers(Buffer.from(text)).keys()), new Set(names))
    }),
    { numRuns: 2000 },
  )
})

for (const member of SINGLE) {
  test(`"${member}" twice is refused, and names the member`, () => {
    const escaped = `\\u${member.charCodeAt(0).toString(16).padStart(4, '0')}${member.slice(1)}`
    for (const [first, second] of [
      [member, member],
      [member, escaped],
      [escaped, member],
      [escaped, escaped],
    ]) {
      const bytes = Buffer.from(`{"${first}":1,"other":{"${member}":1},"${second}":1}`)
      assert.throws(
        () => scanMembers(bytes),
        (error) => error instanceof MembersError && error.param === member,
      )
    }
  })
}

/** Spellings that a decoder without case takes for the name. */
const FOLDED: readonly (readonly [sent: string, name: string])[] = [
  ['Model', 'model'],
  ['MODEL', 'model'],
  ['mODEL', 'model'],
  ['\\u004dodel', 'model'],
  ['Messages', 'messages'],
  ['me\u017fsages', 'messages'],
  ['me\u00dfages', 'messages'],
  ['me\u1e9eages', 'messages'],
  ['Max_Tokens', 'max_tokens'],
  ['max_to\u212aens', 'max_tokens'],
  ['max_to\\u212aens', 'max_tokens'],
  ['max_token\u017f', 'max_tokens'],
  ['MAX_COMPLETION_TOKENS', 'max_completion_tokens'],
  ['max_complet\u0131on_tokens', 'max_completion_tokens'],
  ['N', 'n'],
  ['Stream', 'stream'],
  ['\u017ftream', 'stream'],
  ['\\u017ftream', 'stream'],
  ['\ufb05ream', 'stream'],
  ['\ufb06ream', 'stream'],
  ['Stream_options', 'stream_options'],
]

for (const [sent, name] of FOLDED) {
  test(`"${sent}" is refused, alone and beside "${name}", and the message says how to write it`, () => {
    for (const text of [
      `{"${sent}":1}`,
      `{"${name}":1,"${sent}":2}`,
      `{"${sent}":1,"${name}":2}`,
    ]) {
      assert.throws(
        () => scanMembers(Buffer.from(text)),
        (error) =>
          error instanceof MembersError &&
          error.param === JSON.parse(`"${sent}"`) &&
          error.message.includes(`"${name}"`),
      )
    }
  })
}

test('names that fold to no deciding name pass', () => {
  for (const other of [
    'models',
    'Messagess',
    'seed',
    'Seed',
    'stop',
    'NN',
    'm',
    '\u017f',
    'Stop',
  ]) {
    assert.ok(scanMembers(Buffer.from(`{"${other}":1,"model":2}`)).has(other), other)
  }
  assert.ok(scanMembers(Buffer.from('{"metadata":{"Model":1}}')).has('metadata'))
})

test('a deciding name with any letter of Unicode that case mapping makes its own is refused', () => {
  let count = 0
  for (let code = 0; code <= 0x10ffff; code++) {
    const letter = String.fromCodePoint(code)
    const plain = letter.toLowerCase().toUpperCase().toLowerCase()
    if (letter === plain || !/^[a-z]+$/.test(plain)) continue
    for (const single of SINGLE.filter((one) => one.includes(plain))) {
      const sent = single.replace(plain, letter)
      assert.throws(() => scanMembers(Buffer.from(`{"${sent}":1}`)), MembersError, sent)
      count++
    }
  }
  assert.ok(count > 50, String(count))
})

const BROKEN = [
  '',
  ' ',
  '[',
  '[]',
  '1',
  '"a"',
  'null',
  '{',
  '{"',
  '{"a',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":"',
  '{"a":"\\',
  '{"a":[',
  '{"a":{}',
  '{"a"1}',
  '{"a":}',
  '{"a":,}',
  '{a:1}',
  '{1:1}',
  '{"a":1 "b":2}',
  '{"a":1;"b":2}',
  '{,}',
  '{"a\\x":1}',
  '{"\\u12":1}',
  '{"a":[1,}',
]

for (const text of BROKEN) {
  test(`${text || 'nothing'} has no members`, () => {
    const bytes = Buffer.from(text)
    try {
      scanMembers(bytes)
    } catch (error) {
      assert.ok(error instanceof MembersError)
      return
    }
    // The scan leaves some mistakes to the parser after it.
    assert.throws(() => JSON.parse(text), SyntaxError)
  })
}

test('depth and number of members are bounded, exactly', () => {
  const nested = (depth: number) =>
    Buffer.from(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`)
  const wide = (count: number) =>
    Buffer.from(`{${Array.from({ length: count }, (_, at) => `"${at}":0`).join()}}`)
  scanMembers(nested(64))
  assert.throws(() => scanMembers(nested(65)), /nested deeper/)
  scanMembers(wide(256))
  assert.throws(() => scanMembers(wide(257)), /more than 256 members/)
})

test('the number of values is bounded, exactly, for all kinds of values at all places', () => {
  // The object, the list, and its content.
  const listed = (value: string, count: number) =>
    Buffer.from(`{"x":[ ${Array.from({ length: count }, () => value).join(' , ')} ]}`)
  for (const value of ['1', '"a,b"', '[]', '[ ]', '{}', 'null', '"\\""']) {
    scanMembers(listed(value, VALUES_MAX - 2))
    assert.throws(() => scanMembers(listed(value, VALUES_MAX - 1)), /more than 131072 JSON values/)
  }
  const pairs = (count: number) =>
    Buffer.from(`{"x":[${Array.from({ length: count }, () => '{"a":[0]}').join()}]}`)
  scanMembers(pairs(Math.floor((VALUES_MAX - 2) / 3)))
  assert.throws(() => scanMembers(pairs(Math.ceil((VALUES_MAX - 1) / 3))), MembersError)
})

test('a reading that stops anywhere finds the same as one in a single step', () => {
  fc.assert(
    fc.property(written, fc.nat(20), ({ text }, step) => {
      const bytes = Buffer.from(text)
      const scan = new MembersScan(bytes)
      let until = 0
      while (!scan.run(until)) until += 1 + step
      assert.deepEqual(scan.spans, scanMembers(bytes))
    }),
    { numRuns: cases(1000, 3000) },
  )
})

test('only texts longer than a piece are reported', () => {
  const text = 'x'.repeat(PIECE_BYTES)
  const value = JSON.stringify({ short: [1, 'y'], long: [text, { text }] })
  const body = `{"a":${value},"b":"${text}"}`
  const scan = new MembersScan(Buffer.from(body))
  scan.run(body.length)
  const reported = [...scan.long].map(([start, end]) => body.slice(start, end))
  assert.deepEqual(
    reported.toSorted(),
    [
      `"${text}"`,
      `"${text}"`,
      `"${text}"`,
      JSON.stringify([text, { text }]),
      value,
      JSON.stringify({ text }),
    ].toSorted(),
  )
})

test('two megabytes of any input take linear time', () => {
  const size = 2_000_000
  const hostile = ['"', '\\', '{', '[', ' ', ',', '\\"', '{"a":', '"a":1,', '\\\\"']
  for (const piece of hostile) {
    for (const before of ['{', '{"a":"', '{"a":', '{"']) {
      const start = performance.now()
      try {
        scanMembers(Buffer.from(before + piece.repeat(size / piece.length)))
      } catch (error) {
        assert.ok(error instanceof MembersError)
      }
      // It takes milliseconds; with a square of two million it would take minutes.
      assert.ok(performance.now() - start < 10_000, `${before}${piece}…`)
    }
  }
})
