/** Numbers of the user keep their text from parse to writing; all others are numbers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce } from '../../../dataplane/base/steps.ts'
import { MembersScan } from '../../../dataplane/json/members.ts'
import { NumberText } from '../../../dataplane/json/numbers.ts'
import { parseExactly } from '../../../dataplane/json/parse.ts'
import { parseInPieces } from '../../../dataplane/json/steps/pieces.ts'
import { isRecord, parsedArguments } from '../../../dataplane/json/values.ts'
import { joining, writing } from '../../../dataplane/json/writing.ts'
import { cases } from '../../helpers/cases.ts'
import { canonical } from '../../helpers/conversations/json-text.ts'
import { NUMBERS, someObject } from '../../helpers/conversations/random-json.ts'
import { aRandom } from '../../helpers/random.ts'

const ODD = [
  ...['1234567890123456789', '-9223372036854775808', '9007199254740993', '18446744073709551615'],
  ...['1.0', '-0', '-0.0', '0.1000', '1e2', '1E+3', '1e-07', '1e400', '-1e400', '1e-400'],
  ...['0.1000000000000000055511151231257827', `1${'0'.repeat(70_000)}`],
]
const PLAIN = ['0', '7', '-1', '2.5', '0.7', '-0.25', '123456789012345', '9007199254740991']
const HOLDERS = ['arguments', 'args', 'input', 'input_schema', 'parameters', 'schema']

function inPieces(text: string, pieceBytes: number): unknown {
  const bytes = Buffer.from(text)
  const scan = new MembersScan(bytes, pieceBytes)
  scan.run(bytes.length)
  return atOnce(parseInPieces(bytes, scan))
}

const spaced = (one: string) => `[ ${one} , ${one}\n,[${one}], {"b" : ${one}} ,"${one}"]`

test('a number keeps its text in arguments and schemas, at any depth and after any spaces', () => {
  for (const number of [...ODD, ...PLAIN])
    for (const holder of HOLDERS) {
      const text = `{"x":[{"${holder}":{"a":${spaced(number)},"__proto__":${number}}}],"t":1}`
      assert.equal(JSON.stringify(parseExactly(text)), text.replaceAll(/[ \n]/g, ''))
    }
})

test('a number elsewhere is a number', () => {
  for (const number of [...ODD, ...PLAIN]) {
    const read = (one: string) =>
      parseExactly(
        `{"t":${one},"input":[${one}],"x":{"__proto__":${one},"schema":{"k":${number}}}}`,
      )
    const written = JSON.stringify(read(number))
    const plain = JSON.stringify(Number(number))
    assert.equal(written, JSON.stringify(read(plain)))
    assert.ok(written.includes(`{"__proto__":${plain},"schema":{"k":${number}}}`))
    assert.equal(typeof (read(number) as { readonly t: unknown }).t, 'number')
  }
})

test('a holder with an escaped name has the same content', () => {
  const text = String.raw`{"p\u0061rameters":{"con\u0074ent":1.0}}`
  assert.equal(JSON.stringify(parseExactly(text)), '{"parameters":{"content":1.0}}')
})

test('a body that is parsed in pieces keeps the same texts as one that is parsed at once', () => {
  const random = aRandom(400)
  for (let round = 0; round < cases(300, 30_000); round++) {
    const holder = HOLDERS[random(HOLDERS.length)]
    const text = `{"t":1.0,"m":[${someObject(random, 4)},{"${holder}":${someObject(random, 5)}}]}`
    const once = JSON.stringify(parseExactly(text))
    for (const pieceBytes of [16, 64, 400]) {
      // No number of a body in pieces may be longer than a piece.
      if (/[\d.]{16}/.test(text) && pieceBytes === 16) continue
      assert.equal(JSON.stringify(inPieces(text, pieceBytes)), once, text)
    }
  }
})

test('random arguments keep the texts of all numbers', () => {
  const random = aRandom(401)
  for (let round = 0; round < cases(2_000, 200_000); round++) {
    const text = someObject(random, 4)
    assert.equal(canonical(JSON.stringify(parsedArguments(text))), canonical(text))
  }
})

test('the scan of a body notes each unusual number that is nested in it', () => {
  for (const number of ODD)
    for (const text of [`{"a":{"b":${number}}}`, `{"a":[7,${number},8]}`, `{"a":[ ${number}]}`]) {
      const bytes = Buffer.from(text)
      for (const step of [3, bytes.length]) {
        const scan = new MembersScan(bytes)
        for (let until = step; !scan.run(until); until += step);
        assert.ok(scan.hasOddNumbers, text)
      }
    }
  const plain = new MembersScan(
    Buffer.from('{"n":1.0,"a":{"b":[123456789012345,-1],"c":"1.0 -0"}}'),
  )
  plain.run(1_000)
  assert.equal(plain.hasOddNumbers, false)
})

test('a number that the scan of a body does not note is printed unchanged', () => {
  const random = aRandom(402)
  for (let round = 0; round < cases(5_000, 500_000); round++) {
    const digits = (most: number) => String(random(10 ** (1 + random(most)))).repeat(1 + random(2))
    const whole = random(3) > 0 ? '0' : digits(9).replace(/^0+(?=.)/, '')
    const fraction = random(3) > 0 ? `.${'0'.repeat(random(9))}${digits(9)}` : ''
    const number = `${random(2) > 0 ? '-' : ''}${whole}${fraction}`
    const bytes = Buffer.from(`{"a":[${number}]}`)
    const scan = new MembersScan(bytes)
    scan.run(bytes.length)
    if (!scan.hasOddNumbers) assert.equal(String(Number(number)), number)
  }
})

test('JSON that is written in steps has the text of each number', () => {
  const value = {
    long: 'x'.repeat(200_000),
    a: NUMBERS.concat(ODD).map((one) => new NumberText(one)),
  }
  const written = atOnce(joining(atOnce(writing(value)))).toString()
  assert.equal(written, `{"long":"${value.long}","a":[${NUMBERS.concat(ODD).join()}]}`)
})

test('a number that keeps its text is no object to a reader', () => {
  assert.equal(isRecord(new NumberText('1.0')), false)
  assert.equal(`at most ${new NumberText('1.0')}`, 'at most 1.0')
})
