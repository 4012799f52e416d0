/** The revision that a runtime reports, and whether two spellings mean one revision. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { isSameRevision, LISTED_REVISION } from '../../../dataplane/wire/revisions.ts'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'
const listed = (entry: object) => ({ data: [{ id: 'm', ...entry }] })

const ANSWERS = [
  ['tgi', { model_sha: COMMIT, sha: 'of the runtime' }, COMMIT],
  ['tgi', { model_sha: null, sha: 'of the runtime' }, undefined],
  ['sglang', { weight_version: 'v7', model_path: 'org/m' }, 'v7'],
  ['sglang', { weight_version: 'default', model_path: `/hub/snapshots/${COMMIT}` }, COMMIT],
  ['ollama', { models: [{ name: 'm:latest', digest: 'sha256:abc' }] }, 'sha256:abc'],
  ['ollama', { models: [{ name: 'other', digest: 'sha256:abc' }] }, undefined],
  ['vllm', listed({ root: `/hub/models--org--m/snapshots/${COMMIT}` }), COMMIT],
  ['vllm', listed({ root: 'org/m' }), undefined],
  ['vllm', listed({ root: 'org/m@v2.1' }), 'v2.1'],
  ['vllm', listed({ revision: 'main' }), 'main'],
  ['llamacpp', listed({ meta: {} }), undefined],
  ['triton', 'no JSON', undefined],
] as const

for (const [provider, answer, expected] of ANSWERS) {
  test(`${provider} serves ${expected} by ${JSON.stringify(answer)}`, () => {
    const [first] = PROVIDERS.get(provider)?.revisionQuestions ?? LISTED_REVISION
    assert.equal(first?.read(answer, 'm'), expected)
  })
}

const SPELLINGS = [
  ['abc', 'abc', true],
  ['ABC', 'abc', true],
  [COMMIT, COMMIT.slice(0, 7), true],
  [COMMIT.slice(0, 12), COMMIT, true],
  [COMMIT, COMMIT.slice(0, 6), false],
  ['sha256:0123456789', '0123456789', true],
  ['main', 'mainline', false],
  ['v1', 'v2', false],
] as const

for (const [one, other, same] of SPELLINGS) {
  test(`${one} and ${other} are ${same ? 'one revision' : 'two revisions'}`, () => {
    assert.equal(isSameRevision(one, other), same)
    assert.equal(isSameRevision(other, one), same)
  })
}
