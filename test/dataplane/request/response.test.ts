/** An answer is sent whole, as a stream or as a refusal; clients that read nothing or leave are noticed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { anAnswer } from '../an-answer.ts'
import { headed } from '../headed.ts'

const SOURCE = { drained() {} }
const CUT = new GatewayError('ERR_GW_STREAM_ABORTED', 'It was cut.')

test('a whole answer has the headers of every answer, and is the only one', () => {
  const { response, heard, deadlines } = anAnswer()
  response.route = 'chat'
  response.upstream = 'up'
  response.upstreamRequestId = 'u-1'
  response.limits = { 'X-Gw-RateLimit-Limit': '60' }
  response.headers.push('x-gw-max-tokens', '50')
  response.send(200, 'application/json', '{}')
  response.send(500, 'text/plain', 'another')
  response.refuse(CUT)
  assert.deepEqual(heard.calls, ['whole'])
  assert.deepEqual([heard.status, heard.body], [200, '{}'])
  assert.deepEqual(heard.head, {
    'x-gw-max-tokens': '50',
    'x-request-id': 'r-1',
    'x-gw-route': 'chat',
    'X-Gw-RateLimit-Limit': '60',
    'x-gw-upstream': 'up',
    'x-gw-upstream-request-id': 'u-1',
    'content-type': 'application/json',
  })
  assert.deepEqual([response.state, response.status], ['ended', 200])
  assert.equal(deadlines.size, 0)
})

test('an answer before the body has arrived is the last of its connection', () => {
  const { response, heard } = anAnswer({ complete: false, ...headed({ 'content-length': '9' }) })
  response.send(413, 'text/plain', '')
  assert.equal(heard.head.connection, 'close')
})

test('a stream begins with its commitment, passes pieces, and has a proper end', () => {
  const { response, heard } = anAnswer()
  response.commit(SOURCE)
  assert.equal(response.write(Buffer.from('data: 1\n\n')), true)
  response.end()
  response.write(Buffer.from('late'))
  assert.deepEqual(heard.calls, ['begin', 'write', 'end'])
  assert.equal(heard.body, 'data: 1\n\n')
  assert.match(heard.head['content-type'] ?? '', /^text\/event-stream/)
  assert.equal(response.status, 200)
})

test('heartbeats come every interval, commit to nothing and name no upstream', () => {
  const { response, heard, pass } = anAnswer()
  response.upstream = 'up'
  response.heartbeat(5000)
  pass(4900)
  assert.deepEqual(heard.calls, [])
  pass(100)
  assert.equal(response.state, 'heartbeating')
  assert.equal(heard.head['x-gw-upstream'], undefined)
  pass(5000)
  assert.deepEqual(heard.calls, ['begin', 'write', 'write'])
  assert.match(heard.body, /^(: keepalive\n){2}$/)
  response.commit(SOURCE)
  assert.deepEqual(heard.calls.slice(3), [], 'the head has been sent before')
})

test('a heartbeat waits for the end of an event, and for a client that reads nothing', () => {
  const { response, heard, pass } = anAnswer()
  response.heartbeat(5000)
  response.commit(SOURCE)
  response.write(Buffer.from('data: a part'))
  pass(6000)
  assert.deepEqual(heard.calls, ['begin', 'write'])
  response.write(Buffer.from(' and the rest\r'))
  pass(1000)
  assert.equal(heard.calls.length, 4)
  heard.needsDrain = true
  pass(6000)
  assert.equal(heard.calls.length, 4)
})

test('a refusal is an answer while nothing was sent, with the headers of its details', () => {
  const { response, heard } = anAnswer()
  response.refuse(
    new GatewayError('ERR_GW_RATE_LIMIT_LOCAL', 'Too many.', { retryAfterSeconds: 3, final: true }),
  )
  assert.equal(heard.status, 429)
  assert.deepEqual([heard.head['retry-after'], heard.head['x-should-retry']], ['3', 'false'])
  assert.equal(JSON.parse(heard.body).error.request_id, 'r-1')

  const { response: keyless, heard: keylessHeard } = anAnswer()
  keyless.refuse(new GatewayError('ERR_GW_AUTH_INVALID_KEY', 'No key.'))
  assert.equal(keylessHeard.head['www-authenticate'], 'Bearer')
  const { response: wrong, heard: allowed } = anAnswer()
  wrong.refuse(new GatewayError('ERR_GW_METHOD_NOT_ALLOWED', 'GET it.', { allow: 'GET' }))
  assert.equal(allowed.head.allow, 'GET')
})

test('a refusal of a started stream is an error event and a cut', async () => {
  for (const begin of ['commit', 'heartbeat'] as const) {
    const { response, heard, pass } = anAnswer()
    if (begin === 'commit') response.commit(SOURCE)
    response.heartbeat(1000)
    pass(1000)
    const before = heard.calls.length
    response.refuse(CUT)
    await turn()
    assert.deepEqual(heard.calls.slice(before), ['write', 'cut'])
    assert.match(heard.body, /data: \{"error".*ERR_GW_STREAM_ABORTED/)
    assert.equal(response.status, 499)
  }
})

test('a source is notified when more may be written', () => {
  let drained = 0
  const { response, heard } = anAnswer()
  response.commit({ drained: () => void drained++ })
  heard.needsDrain = true
  assert.equal(response.write(Buffer.from('data: 1\n\n')), false)
  heard.listener.drained()
  assert.equal(drained, 1)
})

test('a client that reads nothing for 30 s is cut, one that reads a little is not', () => {
  for (const takes of [true, false]) {
    const { response, heard, pass } = anAnswer()
    response.commit(SOURCE)
    heard.needsDrain = true
    heard.untaken = 1000
    response.heartbeat(600_000)
    response.write(Buffer.from('data: 1\n\n'))
    for (let second = 0; second < 31; second++) {
      pass(1000)
      if (takes && second === 20) heard.untaken = 999
    }
    assert.equal(heard.calls.includes('destroy'), !takes)
  }
})

test('the rest of an ended answer is watched until the client has it', () => {
  const { response, heard, deadlines, pass } = anAnswer()
  heard.unwritten = 1000
  heard.untaken = 1000
  response.send(200, 'text/plain', 'much')
  assert.equal(deadlines.size, 1)
  pass(15_000)
  heard.listener.closed()
  assert.equal(deadlines.size, 0)
  assert.deepEqual([response.left, response.presence.state], [false, 'idle'])
})

test('an answer after another of its connection is watched from its turn on', () => {
  const { response, heard, deadlines } = anAnswer()
  heard.unwritten = 1000
  heard.isQueued = true
  response.send(200, 'text/plain', 'much')
  assert.equal(deadlines.size, 0)
  heard.isQueued = false
  heard.listener.turned()
  assert.equal(deadlines.size, 1)
})

test('a client that leaves before its answer is complete ends the running work, and is counted as 499', () => {
  const { response, heard, deadlines } = anAnswer()
  let ended = 0
  response.heartbeat(5000)
  response.presence.begin({ leave: () => void ended++ })
  heard.listener.closed()
  assert.deepEqual([response.left, response.status, ended], [true, 499, 1])
  assert.equal(response.presence.state, 'over')
  assert.equal(deadlines.size, 0)
  response.commit(SOURCE)
  response.write(Buffer.from('late'))
  response.refuse(CUT)
  assert.deepEqual(heard.calls, [])
})
