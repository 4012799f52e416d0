/** A day of agents that set no cache marks: their requests in their order, the same in each run. */
import { aRandom } from './random.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies of two APIs.
type Json = any

export interface Sent {
  /** Milliseconds of the day. */
  readonly at: number
  readonly chat: Json
  readonly messages: Json
}

interface Step {
  readonly at: number
  readonly id: string
  readonly said: string
  readonly result: string
}

const HOUR_MS = 3_600_000
const SESSIONS = 12
const WORDS =
  'the file reads a line of code and tests each function that fails with an error'.split(' ')

export function aDayOfAgents(): Sent[] {
  const random = aRandom(20_261_126)
  const prose = (tokens: number) =>
    Array.from({ length: Math.ceil(tokens * 0.8) }, () => WORDS[random(WORDS.length)]).join(' ')
  const tools = ['bash', 'read', 'edit', 'grep', 'glob', 'fetch'].map((name) => ({
    ...{ name, description: prose(250) },
    schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  }))
  const system = prose(1_500)
  const sent = Array.from({ length: SESSIONS }, (_, session) => {
    const task = prose(60)
    const steps: Step[] = []
    let at = 8 * HOUR_MS + random(9 * HOUR_MS)
    const rounds = 6 + random(18)
    const out: Sent[] = []
    for (let round = 0; round <= rounds; round++) {
      out.push({ at, chat: inChat(), messages: inMessages() })
      // A model and a tool take seconds; sometimes a person reads first, and may take longer than a cache keeps.
      at += 3_000 + random(40_000) + (random(8) === 0 ? random(15 * 60_000) : 0)
      const result = prose(random(5) === 0 ? 1_500 + random(2_500) : 60 + random(500))
      steps.push({ at, id: `call_${session}_${round}`, said: prose(30), result })
    }
    return out

    function inChat(): Json {
      return {
        tools: tools.map(({ schema, ...rest }) => ({
          type: 'function',
          function: { ...rest, parameters: schema },
        })),
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: task },
          ...steps.flatMap(({ id, said, result }) => [
            {
              ...{ role: 'assistant', content: said },
              tool_calls: [
                { id, type: 'function', function: { name: 'bash', arguments: '{"command":"x"}' } },
              ],
            },
            { role: 'tool', tool_call_id: id, content: result },
          ]),
        ],
      }
    }

    function inMessages(): Json {
      return {
        max_tokens: 4096,
        tools: tools.map(({ schema, ...rest }) => ({ ...rest, input_schema: schema })),
        system,
        messages: [
          { role: 'user', content: task },
          ...steps.flatMap(({ id, said, result }) => [
            {
              role: 'assistant',
              content: [
                { type: 'text', text: said },
                { type: 'tool_use', id, name: 'bash', input: { command: 'x' } },
              ],
            },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result }] },
          ]),
        ],
      }
    }
  })
  return sent.flat().sort((one, other) => one.at - other.at)
}
