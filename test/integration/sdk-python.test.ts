/** The official Python SDK through the gateway; `python/client.py` calls, this file checks. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { PYTHON, SCRIPTED_TEXT, SCRIPTED_TOKENS } from '../helpers/model/model-server.ts'
import { startSdkGateway } from './sdk-gateway.ts'

const { gateway, allowed, narrow, loop, stop } = await startSdkGateway()
after(stop)

const seen = await callFromPython()
const usage = [12, SCRIPTED_TOKENS, 81]

test('the pinned version of the SDK made the calls', async () => {
  const requirements = await readFile(
    join(import.meta.dirname, '../helpers/model/requirements.txt'),
    'utf8',
  )
  assert.ok(requirements.includes(`openai==${seen.version}\n`), seen.version)
})

test('an answer arrives whole, with its usage and the request id of the header', () => {
  const { request_id, request_id_header, ...answer } = seen.whole
  assert.deepEqual(answer, { text: SCRIPTED_TEXT, finish: 'stop', usage })
  assert.ok(request_id)
  assert.equal(request_id, request_id_header)
})

test('a stream that did not ask for usage has text and no usage', () => {
  assert.deepEqual(seen.stream, {
    text: SCRIPTED_TEXT,
    finish: 'stop',
    chunks_with_usage_key: 0,
    chunks_without_choices: 0,
    usages: [],
    usage_is_last: false,
  })
})

test('a stream that asked for usage gets it once, last', () => {
  const { chunks_with_usage_key: _, ...rest } = seen.stream_with_usage
  assert.deepEqual(rest, {
    text: SCRIPTED_TEXT,
    finish: 'stop',
    chunks_without_choices: 1,
    usages: [usage],
    usage_is_last: true,
  })
})

for (const how of ['tool_call', 'tool_call_streamed'] as const) {
  test(`a ${how.replaceAll('_', ' ')} arrives`, () => {
    assert.deepEqual(seen[how], {
      finish: 'tool_calls',
      has_id: true,
      name: 'get_weather',
      arguments: { city: 'Paris' },
    })
  })
}

test('a client that leaves frees the model server', () => {
  assert.deepEqual(seen.abandoned, { works_before: true, idle_after: true })
})

test("the list of models contains the key's routes", () => {
  assert.deepEqual(seen.models, ['chat', 'endless'])
  assert.deepEqual(seen.models_narrow, ['endless'])
})

const refusals = [
  ['unknown_key', 'AuthenticationError', 401, 'ERR_GW_AUTH_INVALID_KEY'],
  ['lacking_route', 'PermissionDeniedError', 403, 'ERR_GW_AUTH_SCOPE_DENIED'],
  ['unknown_model', 'NotFoundError', 404, 'ERR_GW_ROUTE_NOT_FOUND'],
  ['too_long', 'BadRequestError', 400, 'ERR_GW_CONTEXT_OVERFLOW'],
  ['too_long_stream', 'BadRequestError', 400, 'ERR_GW_CONTEXT_OVERFLOW'],
] as const

for (const [what, type, status, code] of refusals) {
  test(`${what.replaceAll('_', ' ')} raises a ${type}`, () => {
    const { request_id, request_id_in_body, ...error } = seen[what]
    assert.deepEqual(error, { type, status, code })
    assert.ok(request_id)
    assert.equal(request_id, request_id_in_body)
  })
}

/** One run of the client for all tests, since starting Python costs more than the calls. */
async function callFromPython() {
  const client = join(import.meta.dirname, 'python/client.py')
  const parameters = [client, `${gateway.url}/v1`, allowed.key, narrow.key, loop.url]
  const { stdout } = await promisify(execFile)(PYTHON, parameters, { timeout: 600_000 })
  return JSON.parse(stdout)
}
