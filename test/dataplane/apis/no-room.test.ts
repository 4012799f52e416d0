/** Refusals of a prompt that fits, but not together with `max_tokens`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicWire } from '../../../dataplane/apis/anthropic-messages/wire.ts'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { tooLongWords } from '../../../dataplane/tokens/overflow-words.ts'

const OWN =
  'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, ' +
  'decrease input length or `max_tokens` and try again'

test("the vendor's own refusal keeps its text, by which clients lower max_tokens", () => {
  const error = new GatewayError('ERR_GW_CONTEXT_OVERFLOW', tooLongWords(OWN, 200_000), {})
  assert.equal(JSON.parse(anthropicWire.refusal(error, 'r')).error.message, OWN)
})
