/** Payloads are read in the forms of loaders. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  belongsTo,
  fieldAt,
  passageText,
  sourceOf,
} from '../../../dataplane/vector-stores/payload.ts'

test('the text is in the first usual field with a text', () => {
  assert.equal(passageText({ document: 'd', content: 'c', text: '' }, undefined), 'c')
  assert.equal(passageText({ page_content: 'p', document: 'd' }, undefined), 'p')
  assert.equal(passageText({ body: 'b' }, undefined), undefined)
})

test('only a named field is read', () => {
  assert.equal(passageText({ text: 't', body: { full: 'b' } }, 'body.full'), 'b')
  assert.equal(passageText({ text: 't' }, 'body'), undefined)
})

test('the source is next to the text or in its metadata', () => {
  assert.equal(sourceOf({ url: 'u', metadata: { source: 's' } }), 'u')
  assert.equal(sourceOf({ metadata: { file_name: 'f' } }), 'f')
  assert.equal(sourceOf({ source: 7 }), undefined)
})

test('a dot leads to a member, unless a name contains the dot', () => {
  assert.equal(fieldAt({ 'a.b': 1, a: { b: 2 } }, 'a.b'), 1)
  assert.equal(fieldAt({ a: { b: { c: 3 } } }, 'a.b.c'), 3)
  assert.equal(fieldAt({ a: 'text' }, 'a.length'), undefined)
  assert.equal(fieldAt({}, 'constructor'), undefined)
})

for (const [payload, isTheirs] of [
  [{ tenant: 'acme' }, true],
  [{ tenant: ['globex', 'acme'] }, true],
  [{ tenant: 'acme2' }, false],
  [{ tenant: ['acme2'] }, false],
  [{ tenant: { $ne: 'x' } }, false],
  [{}, false],
] as const) {
  test(`${JSON.stringify(payload)} ${isTheirs ? 'belongs' : 'does not belong'} to acme`, () => {
    assert.equal(belongsTo(payload, 'tenant', 'acme'), isTheirs)
  })
}
