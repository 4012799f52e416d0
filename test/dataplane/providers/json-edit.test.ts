/** Editing members: the requested changes happen, and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { editMembers } from '../../../dataplane/json/edit.ts'
import { scanMembers } from '../../../dataplane/json/members.ts'
import { cases } from '../../helpers/cases.ts'

const NAMES = ['model', 'user', 'a"b', 'a\\', 'ä', '', '{', ',', 'x:y', '__proto__']
/** "N" is refused: it could be read as "n". */
const name = fc
  .oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 5 }))
  .filter((text) => text !== 'N')
const space = fc.constantFrom('', ' ', '\n', '\t ', '\r\n')
/** Without the negative zero, which JSON cannot write. */
const value = fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown)
/** Members in their written order; names may repeat. */
const members = fc.array(fc.tuple(name, value, space), { maxLength: 8 })
/** All edited names are ASCII. */
const edited = name.filter((text) => text !== 'ä')
const changes = fc.array(fc.tuple(edited, fc.option(value, { nil: undefined })), { maxLength: 5 })

type Members = readonly (readonly [string, unknown, string])[]

function written(list: Members): Buffer {
  const texts = list.map(
    ([key, member, gap]) =>
      `${gap}${JSON.stringify(key)}${gap}:${gap}${JSON.stringify(member)}${gap}`,
  )
  return Buffer.from(` {${texts.join(',')} } `)
}

function edit(bytes: Buffer, wanted: ReadonlyMap<string, unknown>): Buffer {
  const texts = [...wanted].map(([key, member]): [string, string | undefined] => [
    key,
    member === undefined ? undefined : JSON.stringify(member),
  ])
  return editMembers(bytes, scanMembers(bytes), new Map(texts))
}

function tryScan(bytes: Buffer): boolean {
  try {
    scanMembers(bytes)
    return true
  } catch {
    return false
  }
}

test('an edited text parses to the wanted value, even if names repeat', () => {
  fc.assert(
    fc.property(members, changes, (list, wanted) => {
      const bytes = written(list)
      fc.pre(tryScan(bytes)) // Some members may not repeat.
      const expected = new Map<string, unknown>(
        Object.entries(JSON.parse(bytes.toString()) as object),
      )
      for (const [key, member] of new Map(wanted)) {
        if (member === undefined) expected.delete(key)
        else expected.set(key, member)
      }
      const result = JSON.parse(edit(bytes, new Map(wanted)).toString()) as object
      assert.deepEqual(new Map(Object.entries(result)), expected)
    }),
    { numRuns: cases(500, 2000) },
  )
})

test('members that are not edited keep every byte and their order', () => {
  const unique = fc.uniqueArray(fc.tuple(name, value, space), {
    maxLength: 8,
    selector: ([key]) => key,
  })
  fc.assert(
    fc.property(unique, changes, (list, wanted) => {
      const bytes = written(list)
      const touched = new Set(wanted.map(([key]) => key))
      const result = edit(bytes, new Map(wanted)).toString()
      let from = 0
      for (const [key, member, gap] of list) {
        if (touched.has(key)) continue
        const text = `${gap}${JSON.stringify(key)}${gap}:${gap}${JSON.stringify(member)}`
        const at = result.indexOf(text, from)
        assert.notEqual(at, -1, `${text} in ${result}`)
        from = at + text.length
      }
    }),
    { numRuns: cases(500, 2000) },
  )
})

test('only the replaced value changes', () => {
  const bytes = Buffer.from('{ "a" : 1.0 ,"model":\t"x" , "big":12345678901234567890 }')
  assert.equal(
    edit(bytes, new Map([['model', 'M']])).toString(),
    '{ "a" : 1.0 ,"model":\t"M" , "big":12345678901234567890 }',
  )
})

test('without a change it is the same buffer', () => {
  const bytes = Buffer.from('{"model":"x"}')
  assert.equal(edit(bytes, new Map()), bytes)
})

test('removing at the beginning, in the middle, at the end and everything', () => {
  const bytes = Buffer.from('{ "a":1 , "b":2,"c" : 3 }')
  const removed = (...names: string[]) =>
    edit(bytes, new Map(names.map((key) => [key, undefined]))).toString()
  assert.equal(removed('a'), '{ "b":2,"c" : 3 }')
  assert.equal(removed('b'), '{ "a":1,"c" : 3 }')
  assert.equal(removed('c'), '{ "a":1 , "b":2 }')
  assert.equal(removed('a', 'b'), '{"c" : 3 }')
  assert.equal(removed('a', 'b', 'c'), '{ }')
})

test('adding to an empty object and to one with members', () => {
  const added = new Map([['x', { y: 1 }]])
  assert.equal(edit(Buffer.from('{}'), added).toString(), '{"x":{"y":1}}')
  assert.equal(edit(Buffer.from(' { "a":1}'), added).toString(), ' {"x":{"y":1}, "a":1}')
})

test('a member that appears several times is removed every time', () => {
  const bytes = Buffer.from('{"api_key":"a","model":"m","\\u0061pi_key":"b","n":1,"api_key":"c"}')
  assert.equal(edit(bytes, new Map([['api_key', undefined]])).toString(), '{"model":"m","n":1}')
})

test('an object with the maximum number of members can get more', () => {
  const many = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`x${index}`, index]))
  const wanted = new Map([
    ['x0', undefined],
    ['a', 1],
    ['b', 2],
  ])
  const result = JSON.parse(edit(Buffer.from(JSON.stringify(many)), wanted).toString()) as object
  assert.equal(Object.keys(result).length, 257)
})
