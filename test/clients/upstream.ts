/** One scripted model for all clients; the requested model name selects the answer. */
import { setTimeout as delay } from 'node:timers/promises'
import { listOf, recordOf } from '../../dataplane/json/values.ts'
import {
  type Asked,
  event,
  type FakeUpstream,
  failing,
  type Reply,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'

type Fields = Readonly<Record<string, unknown>>

export const MODELS = ['plain', 'tools', 'shape', 'bad', 'cut', 'slow', 'endless'] as const
/** Longer than two heartbeats of one second. */
const SLOW_MS = 2600
const PLACE = { city: 'Oslo' }
/** The prefix of such a place. */
const OPENING = '{"city": "Os'
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

/** Arguments for the agents' own tools. */
const ARGUMENTS: Readonly<Record<string, Fields>> = {
  exec_command: { cmd: 'echo sunny' },
  Bash: { command: 'echo sunny', description: 'Says it.' },
}

export interface Model {
  readonly upstream: FakeUpstream
  /** When the client left an endless answer, by the request's id. */
  readonly left: ReadonlyMap<string, number>
}

export async function startModel(): Promise<Model> {
  const left = new Map<string, number>()
  const replies: Readonly<Record<(typeof MODELS)[number], Reply>> = {
    plain: both(whole(), streaming()),
    tools: (outgoing, asked) => toolsReply(asked)(outgoing, asked),
    shape: (outgoing, asked) => shapeReply(asked)(outgoing, asked),
    bad: failing(400, { type: 'invalid_request_error', param: 'messages', code: 'bad_words' }),
    // A client that repeats the request without a stream gets an answer.
    cut: both(whole(), (outgoing, asked) =>
      streaming({ end: 'cut', ...(wantsShape(asked) && { words: [OPENING, 'lo'] }) })(
        outgoing,
        asked,
      ),
    ),
    async slow(outgoing, asked) {
      await delay(SLOW_MS)
      const reply = wantsShape(asked) ? saying(JSON.stringify(PLACE)) : both(whole(), streaming())
      await reply(outgoing, asked)
    },
    async endless(outgoing, asked) {
      const id = String(asked.headers['x-request-id'])
      outgoing.on('close', () => left.set(id, Date.now()))
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      if (wantsShape(asked)) outgoing.write(chunk({ content: OPENING }))
      while (!outgoing.destroyed) {
        outgoing.write(chunk({ content: 'word ' }))
        await delay(20)
      }
    },
  }
  const upstream = await startUpstream((outgoing, asked) =>
    replies[asked.body.model as keyof typeof replies](outgoing, asked),
  )
  return { upstream, left }
}

function both(answer: Reply, stream: Reply): Reply {
  return (outgoing, asked) => (asked.body.stream === true ? stream : answer)(outgoing, asked)
}

const saying = (text: string) => both(whole(text), streaming({ words: [text] }))

/** Answers with a call, then with a text that contains the tool's result. */
function toolsReply({ body }: Asked): Reply {
  const results = listOf(body.messages).map(recordOf)
  const result = results.findLast(({ role }) => role === 'tool')
  if (result !== undefined) return saying(`It is ${JSON.stringify(result.content)}.`)
  const names = listOf(body.tools).map((tool) => String(recordOf(recordOf(tool).function).name))
  const name = names.find((one) => one in ARGUMENTS) ?? names[0] ?? 'none'
  return calling(name, ARGUMENTS[name] ?? PLACE)
}

function wantsShape({ body }: Pick<Asked, 'body'>): boolean {
  return recordOf(body.response_format).type === 'json_schema'
}

/** Answers by the schema, from either of the two places where clients send it. */
function shapeReply({ body }: Asked): Reply {
  if (wantsShape({ body })) return saying(JSON.stringify(PLACE))
  const [tool] = listOf(body.tools)
  if (tool === undefined) return saying('The request has no schema.')
  return calling(String(recordOf(recordOf(tool).function).name), PLACE)
}

function calling(name: string, args: Fields): Reply {
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }
  return (outgoing, { body }) => {
    if (body.stream !== true) {
      const message = { role: 'assistant', content: null, tool_calls: [call] }
      const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.end(
        JSON.stringify({
          id: 'c',
          object: 'chat.completion',
          model: 'm',
          created: 1,
          choices,
          usage: USAGE,
        }),
      )
      return
    }
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(chunk({ role: 'assistant', tool_calls: [{ index: 0, ...call }] }))
    outgoing.write(chunk({}, 'tool_calls'))
    outgoing.end(
      `${event({ object: 'chat.completion.chunk', choices: [], usage: USAGE })}data: [DONE]\n\n`,
    )
  }
}

function chunk(delta: Fields, finish_reason: string | null = null): string {
  return event({
    id: 'c',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  })
}
