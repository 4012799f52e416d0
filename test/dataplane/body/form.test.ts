/** Forms are read in one way or refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FormError, readForm } from '../../../dataplane/base/form.ts'
import { atOnce } from '../../../dataplane/base/steps.ts'

const TYPE = 'multipart/form-data; boundary=x-1'
const head = (more: string) => `--x-1\r\n${more}\r\n\r\nvalue\r\n--x-1--`
const field = (disposition: string) => head(`Content-Disposition: form-data; ${disposition}`)

function partsOf(body: string, type = TYPE) {
  const bytes = Buffer.from(body)
  return atOnce(readForm(bytes, type)).parts.map(({ start, end, ...rest }) => ({
    ...rest,
    value: bytes.toString('utf8', start, end),
  }))
}

test('names, files and types are read as clients write them', () => {
  const cases = [
    [field('name="a"'), { name: 'a' }],
    [field('name=a'), { name: 'a' }],
    [field('name="a[]"; filename="b c.wav"'), { name: 'a[]', filename: 'b c.wav' }],
    [field('filename="b\\"c.wav"; name="a"'), { name: 'a', filename: 'b_c.wav' }],
    [field('name="a"; filename="C:\\b\tc.wav"'), { name: 'a', filename: 'C:_b_c.wav' }],
    [field('name="a"; filename*=UTF-8\'\'%C3%B6%22.wav'), { name: 'a', filename: 'ö_.wav' }],
    [
      head('content-type: audio/wav\r\ncontent-disposition: form-data; name="a"'),
      { name: 'a', type: 'audio/wav' },
    ],
    [head('Content-Disposition: form-data; name="a"\r\nContent-Length: 5'), { name: 'a' }],
  ] as const
  for (const [body, part] of cases)
    assert.deepEqual(partsOf(body), [{ ...part, value: 'value' }], body)
  assert.equal(
    partsOf(field('name="a"'), 'multipart/form-data; charset=x; boundary="x-1"').length,
    1,
  )
})

test('an empty value, and one with lines, are values', () => {
  const both = '--x-1\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
  assert.equal(partsOf(`${both}\r\n--x-1--\r\n`)[0]?.value, '')
  assert.equal(partsOf(`${both}\r\n\n\r\r\n--x\r\n--x-1--`)[0]?.value, '\r\n\n\r\r\n--x')
})

test('a part that two readers may read differently is refused', () => {
  const wrong = [
    head('Content-Disposition: attachment; name="a"'),
    head('Content-Type: text/plain'),
    head('Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="b"'),
    head('Content-Disposition: form-data;\r\n name="a"'),
    head('Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64'),
    head(`Content-Disposition: form-data; name="a"\r\nX: ${'x'.repeat(5000)}`),
    field('name="a"; name="b"'),
    field('name="a" filename="b"'),
    field('name="a'),
    field('name="a\\"b"'),
    field('name="ä"'),
    field('name=""'),
    field('Name="a"'),
    field("name*=utf-8''a"),
    field('name="a"; filename*=b'),
    field('name="a"; size=5'),
    '--x-1--x',
    '--x-1\r\n',
    '',
  ]
  for (const body of wrong) assert.throws(() => partsOf(body), FormError, body)
})

test('every truncated form is refused, and no other error is thrown', () => {
  const whole = field('name="a"; filename="b.wav"')
  for (let length = 0; length < whole.length; length++)
    assert.throws(() => partsOf(whole.slice(0, length)), FormError)
})

test('a long value is searched in pieces, and its end is found at any border', () => {
  const whole = (length: number) =>
    Buffer.from(field('name="a"').replace('value', 'x'.repeat(length)))
  let steps = 0
  const reading = readForm(whole(1_000_000), TYPE)
  while (reading.next().done !== true) steps++
  assert.ok(steps >= 15, `${steps} steps`)
  for (let length = 65_520; length < 65_550; length++) {
    const [part] = atOnce(readForm(whole(length), TYPE)).parts
    assert.equal(part && part.end - part.start, length)
  }
})
