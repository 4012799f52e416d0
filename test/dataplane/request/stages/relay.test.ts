/** An answer is sent to its end, by the upstream, the client or the gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { relay } from '../../../../dataplane/request/stages/relay.ts'
import type { OpenedStream, Sink } from '../../../../dataplane/upstream/answer/opened-stream.ts'
import type { Failure } from '../../../../dataplane/wire/provider.ts'
import { anAnswer } from '../../an-answer.ts'

/** A stream that the test controls. */
class Driven implements OpenedStream {
  readonly heard: string[] = []
  sink: Sink | undefined

  flowTo(sink: Sink): void {
    this.sink = sink
  }

  hold(): void {
    this.heard.push('hold')
  }

  drained(): void {
    this.heard.push('drained')
  }

  abort(reason: string): void {
    this.heard.push(reason)
  }

  leave(over: () => void): void {
    this.heard.push('leave')
    over()
  }
}

function relayed() {
  const stream = new Driven()
  const open = { value: 0 }
  const answer = anAnswer()
  answer.response.upstream = 'up'
  const done = relay({ kind: 'stream', stream }, answer.response, open)
  assert.ok(done)
  return { ...answer, stream, open, done }
}

const RESET: Failure = { class: 'reset', message: 'sk-live-0123456789abcdefghij broke' }

test('a whole answer is sent at once', () => {
  const { response, heard } = anAnswer()
  const open = { value: 0 }
  assert.equal(relay({ kind: 'whole', body: '{}' }, response, open), undefined)
  assert.deepEqual([heard.status, heard.body, open.value], [200, '{}', 0])
})

test('a stream is committed, flows, and ends with the upstream; it is counted while it is open', async () => {
  const { stream, open, done, heard, response } = relayed()
  assert.equal(response.state, 'committed')
  assert.equal(open.value, 1)
  assert.equal(stream.sink?.write(Buffer.from('data: 1\n\n')), true)
  stream.sink?.finish(undefined)
  await done
  assert.deepEqual(heard.calls, ['begin', 'write', 'end'])
  assert.deepEqual([open.value, response.status, response.presence.state], [0, 200, 'idle'])
})

test('a client that does not read holds the stream until it has drained', () => {
  const { stream, heard } = relayed()
  heard.needsDrain = true
  assert.equal(stream.sink?.write(Buffer.from('data: 1\n\n')), false)
  heard.listener.drained()
  assert.deepEqual(stream.heard, ['drained'])
})

test('a stream that its upstream cuts is an error that names the upstream and no secret', async () => {
  const { stream, open, done } = relayed()
  stream.sink?.finish(RESET)
  await assert.rejects(done, (error: Error) => {
    assert.match(error.message, /^The answer was cut after it had begun: upstream/)
    assert.match(String(error.cause), /^up: /)
    assert.doesNotMatch(String(error.cause), /sk-live-0123456789/)
    return true
  })
  assert.equal(open.value, 0)
})

test('a client that leaves aborts the stream', async () => {
  const { stream, open, done, heard } = relayed()
  heard.listener.closed()
  await assert.rejects(done, { code: 'ERR_GW_STREAM_ABORTED', message: 'The client left.' })
  assert.deepEqual(stream.heard, ['leave'])
  assert.equal(open.value, 0)
})

test('a stream for a disconnected client is aborted before its first byte', async () => {
  const { response, heard } = anAnswer()
  heard.listener.closed()
  const stream = new Driven()
  const done = relay({ kind: 'stream', stream }, response, { value: 0 })
  await assert.rejects(async () => done, { code: 'ERR_GW_STREAM_ABORTED' })
  assert.deepEqual([stream.heard, stream.sink], [['leave'], undefined])
})

test('a stream that the end of the process cuts is aborted, and that is not a failure', async () => {
  const { stream, done, response } = relayed()
  response.end()
  response.presence.end()
  await done
  assert.deepEqual(stream.heard, ['leave'])
})
