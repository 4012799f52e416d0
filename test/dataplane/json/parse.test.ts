/** A parsed value has the names of its text, after any other text. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultOfRuntime, parseJson } from '../../../dataplane/json/parse.ts'
import { cases } from '../../helpers/cases.ts'
import { aRandom } from '../../helpers/random.ts'
import { readJson } from '../../helpers/reference-json.ts'

const raw = String.raw

/** Texts that teach the runtime a name with a backslash, one that it then misreads, and the correct reading. */
const TAUGHT: Readonly<Record<string, readonly [taught: string, text: string, name: string]>> = {
  'an escaped letter': [raw`"conten\\"`, raw`"conten\u0074"`, 'content'],
  'an escaped first letter': [raw`"\\u00"`, raw`"\u006ebcd"`, 'nbcd'],
  'an escape in the middle': [raw`"m\\u"`, raw`"m\u0061b"`, 'mab'],
  'two escapes': [raw`"gr\\u0"`, raw`"gr\u00f6\u00dfe"`, 'größe'],
  'a letter of two bytes': [raw`"v\\"`, raw`"v\u65e5"`, 'v日'],
  'two halves of a letter': [raw`"f\\u"`, raw`"f\ud83d\ude00"`, 'f😀'],
  'half a letter': [raw`"h\\"`, raw`"h\ud83d"`, 'h\ud83d'],
  'a line feed': [raw`"s\\"`, raw`"s\n"`, 's\n'],
  'an escaped slash': [raw`"s\\"`, raw`"s\/"`, 's/'],
  'a quote': [raw`"u\\"`, raw`"u\""`, 'u"'],
  'a backslash': [raw`"w\\\\"`, raw`"w\\x"`, raw`w\x`],
  'no index': [raw`"0\\"`, raw`"0\u0031"`, '01'],
  'the prototype': [raw`"__proto_\\"`, raw`"__proto_\u005f"`, '__proto__'],
}

for (const [what, [taught, text, name]] of Object.entries(TAUGHT)) {
  test(`a name with ${what} is read correctly, in objects, lists and at any depth`, () => {
    const around = [
      (member: string) => `{"first":true,${member}:1}`,
      (member: string) => `{ "first" : true , ${member} \n : {"x":"\\u0041\\"" }, "z" : [ ] }`,
      (member: string) =>
        `[[{"deep":{"first":true,"x":"日",${member}:[{"first":true,${member}:2}]}}]]`,
      (member: string) => `[{"first":true,${member}:1},{"first":true,${member}:1}]`,
      (member: string) => `{"first":true,${member}:1,${member}:2,"":0,"7":1}`,
    ]
    const names = new Set<string>()
    for (const whole of around) {
      parseJson(whole(taught))
      const read = parseJson(whole(text))
      assert.deepEqual(read, readJson(whole(text)))
      JSON.stringify(read, (member, value) => {
        names.add(member)
        return value
      })
    }
    assert.ok(names.has(name), `${[...names]}`)
  })
}

test('random texts with escaped names are read like by a reader that never uses the runtime', () => {
  const random = aRandom(63_785)
  for (let round = 0; round < cases(1_000, 300_000); round++) {
    // The runtime mistakes names of an object that has few others.
    const first = `"a${round}"`
    const text = aValue(random, 4, first)
    // Like an attacker: each name's raw beginning, as a name.
    for (const name of text.match(/"(?:[^"\\]|\\.)*"(?=\s*:)/g) ?? []) {
      const inside = name.slice(1, -1)
      for (let end = 1; end < Math.min(inside.length, 8); end++) {
        const taught = JSON.stringify(inside.slice(0, end))
        parseJson(`{${first}:1,${taught}:1}`)
        parseJson(`{${first}:"",${taught}:1}`)
      }
    }
    const read = parseJson(text)
    assert.deepEqual(read, readJson(text), text)
    assert.equal(JSON.stringify(read), JSON.stringify(readJson(text)), 'in this order')
  }
})

const LETTERS = [...'ab/\\"\n\u0001é日\ud83d0:,{} ']

function aValue(random: (bound: number) => number, depth: number, first: string): string {
  const kind = random(depth > 0 ? 7 : 3)
  if (kind === 0) return ['1', '-0.5e3', 'true', 'false', 'null'][random(5)] as string
  if (kind < 3) return aString(random)
  const space = [...'  \n\t'].slice(random(4)).join('')
  const count = random(4)
  if (kind === 3) {
    const entries = Array.from({ length: count }, () => aValue(random, depth - 1, first))
    return `[${entries.join(`${space},`)}${space}]`
  }
  const members = Array.from({ length: count }, () => {
    return `${space}${aString(random)}${space}:${space}${aValue(random, depth - 1, first)}`
  })
  return `{${first}:${random(2) ? '1' : '""'}${members.map((member) => `,${member}`).join('')}}`
}

/** Each letter unchanged, or escaped in one of the ways. */
function aString(random: (bound: number) => number): string {
  let text = '"'
  for (let left = random(5); left > 0; left--) {
    const letter = LETTERS[random(LETTERS.length)] as string
    const code = `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
    if (letter === '/' && random(2)) text += raw`\/`
    else text += random(2) ? code : JSON.stringify(letter).slice(1, -1)
  }
  return `${text}"`
}

test('a text that is not JSON is refused with the message of the runtime', () => {
  for (const text of [
    '',
    '{',
    raw`{"a\u0062":1`,
    raw`{"a\x":1}`,
    raw`{\u0022a":1}`,
    raw`{"a":1\u002c":":2}`,
  ]) {
    const words = (read: (text: string) => unknown) => {
      try {
        return read(text)
      } catch (error) {
        return String(error)
      }
    }
    assert.match(String(words(parseJson)), /^SyntaxError/)
    assert.equal(words(parseJson), words(JSON.parse))
  }
})

test('a deep text with an escaped name overflows no stack', () => {
  const depth = 20_000
  let read = parseJson(`${'[{"a\\"":'.repeat(depth)}1${'}]'.repeat(depth)}`)
  for (let level = 0; level < depth; level++) read = (read as [{ 'a"': unknown }])[0]['a"']
  assert.equal(read, 1)
})

test('the fault of a runtime is detected, and a runtime may have none', () => {
  parseJson(raw`{"first":true,"conten\\":1}`)
  const text = raw`{"first":true,"conten\u0074":1}`
  assert.match(Object.keys(JSON.parse(text)).join(), /^first,conten[t\\]$/)
  assert.equal(Object.keys(parseJson(text) as object).join(), 'first,content')
  // The collector may have removed the shape that the parser remembers.
  if (faultOfRuntime() === undefined) assert.ok('content' in JSON.parse(text))
})
