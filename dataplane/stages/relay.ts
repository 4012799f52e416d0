/** Passes the answer on, with back-pressure both ways, to its one end. */
import { GatewayError } from '../base/errors.ts'
import { maskKeys } from '../base/shown-text.ts'
import type { Visit } from '../gateway.ts'
import type { Failure } from '../providers/contract.ts'
import type { ClientResponse } from '../response.ts'
import type { UpstreamStream } from '../streaming/upstream-stream.ts'
import type { Outcome } from '../upstream/attempt/attempt.ts'
import { wordsFor } from '../upstream/attempt/refusal.ts'

export type Reply = Extract<Outcome, { kind: 'whole' | 'stream' }>

/** Sends an answer that is there at once; resolves at the end of a stream. */
export function relay(reply: Reply, visit: Visit): Promise<void> | undefined {
  if (reply.kind === 'stream') return relayStream(reply.stream, visit)
  visit.response.send(200, 'application/json', reply.body)
  return undefined
}

async function relayStream(stream: UpstreamStream, { response, gateway }: Visit): Promise<void> {
  const open = gateway.metrics.streamsOpen.at()
  open.value++
  try {
    const failure = await flow(stream, response)
    if (failure !== undefined) throw cut(failure, response.upstream)
    if (response.left) throw new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
    response.end()
  } finally {
    open.value--
  }
}

/** Resolves with the failure that ended the stream, if one did. */
function flow(stream: UpstreamStream, response: ClientResponse): Promise<Failure | undefined> {
  return new Promise((resolve) => {
    // Not written at the assignments: V8 would make them old at once, and keep the whole stream with them: 23 MiB instead
    // of 9 in test/bench/micro/assigned-functions.ts.
    const leave = () => {
      stream.abort('the client left')
      resolve(undefined)
    }
    const goOn = () => stream.drained()
    response.onLeave = leave
    response.onDrain = goOn
    if (response.left) {
      leave()
      return
    }
    response.commit()
    stream.flowTo({ write: (events) => response.write(events), finish: resolve })
  })
}

function cut(failure: Failure, upstream: string): GatewayError {
  const words = wordsFor(failure, upstream).replace(/^U/, 'u')
  return new GatewayError(
    'ERR_GW_STREAM_ABORTED',
    `The answer was cut after it had begun: ${words}`,
    { cause: `${upstream}: ${maskKeys(failure.message)}` },
  )
}
