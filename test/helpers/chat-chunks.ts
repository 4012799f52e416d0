/** A stream of an upstream with chat completions, from the content of its chunks. */
import { event, type Reply } from './fake-upstream.ts'

const USAGE = {
  prompt_tokens: 140,
  completion_tokens: 9,
  prompt_tokens_details: { cached_tokens: 100 },
}

/** Each is a delta, or a finish reason. */
export function chunks(...choices: readonly (object | string)[]): Reply {
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const one of choices) {
      const choice = typeof one === 'string' ? { delta: {}, finish_reason: one } : { delta: one }
      outgoing.write(event({ id: 'c1', model: 'm', choices: [{ index: 0, ...choice }] }))
    }
    outgoing.end(`${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`)
  }
}

/** A piece of a call; the first one has the id. */
export function callChunk(index: number, fields: object, id?: string): object {
  return { tool_calls: [{ index, ...(id && { id, type: 'function' }), function: fields }] }
}
