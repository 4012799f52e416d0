/** The inputs of embeddings as providers get them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { textsOf } from '../../../dataplane/providers/inputs.ts'

test('texts come in their order, a single one as a list', () => {
  assert.deepEqual(textsOf({ model: 'm', input: 'a' }, 'toy'), ['a'])
  assert.deepEqual(textsOf({ model: 'm', input: ['a', 'b'] }, 'toy'), ['a', 'b'])
})

test('token numbers are refused with the name of the provider', () => {
  for (const input of [
    [1, 2],
    [[1], [2]],
  ]) {
    assert.throws(
      () => textsOf({ model: 'm', input }, 'toy'),
      (error) =>
        error instanceof GatewayError &&
        error.details.param === 'input' &&
        /toy/.test(error.message),
    )
  }
})
