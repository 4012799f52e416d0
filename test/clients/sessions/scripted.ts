/** An upstream with one vendor's wire format and refusals, and answers from the script. */
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { recordOf } from '../../../dataplane/json/values.ts'
import type { Answer } from '../../helpers/conversations/model.ts'
import { bytesOf } from '../../helpers/conversations/upstream/index.ts'
import type { Seen } from '../../helpers/conversations/upstream/seen.ts'
import { type Asked, type FakeUpstream, startUpstream } from '../../helpers/fake-upstream.ts'
import { refusalBy } from '../../helpers/vendors/refusal.ts'
import { type Choice, choose, type Script } from './brain.ts'
import type { Column } from './upstreams.ts'

/** A request for an answer. */
export interface Heard {
  readonly choice: Choice
  readonly seen: Seen
  readonly text: string
}

export interface Scripted {
  readonly upstream: FakeUpstream
  readonly heard: Heard[]
  /** Refusals of the strict vendor, in its wording. */
  readonly refused: string[]
  /** Whether the endless text has started, and whether its reader left. */
  readonly endless: { begun: boolean; left: boolean }
}

export async function startScripted(
  column: Column,
  script: Script,
  root: string,
): Promise<Scripted> {
  const heard: Heard[] = []
  const refused: string[] = []
  const endless = { begun: false, left: false }
  let made = 0
  const upstream = await startUpstream(async (outgoing, asked) => {
    if (asked.path.includes('count_tokens')) return send(outgoing, 200, { input_tokens: 9 })
    const refusal = refusalBy(column.vendor, asked)
    if (refusal !== undefined) {
      refused.push(JSON.stringify(refusal.body))
      return send(outgoing, refusal.status, refusal.body)
    }
    const text = JSON.stringify(asked.body)
    const seen = column.voiceAt(asked.path).read(text, asked.path)
    const choice = choose(seen, script, root, made)
    heard.push({ choice, seen, text })
    if (choice.kind === 'endless') return await speakOn(outgoing, asked)
    made += choice.answer.calls.length
    speak(outgoing, asked, inVoice(choice.answer, asked))
  })
  upstream.vendor = { takesAll: 'The script asks the strict vendor itself.' }
  return { upstream, heard, refused, endless }

  function inVoice(answer: Answer, { body }: Asked): Answer {
    const calls = answer.calls.map((call) => ({
      ...call,
      id: column.ids === '' ? '' : call.id.replace('call_', column.ids),
    }))
    if (!(column.thinks ?? asksForThoughts(body))) return { ...answer, calls }
    const { signature } = column
    return { ...answer, calls, thinking: { text: 'Let me see.', ...(signature && { signature }) } }
  }

  function isStream({ body, path }: Asked): boolean {
    return column.streamPath?.test(path) ?? body.stream === true
  }

  function speak(outgoing: ServerResponse, asked: Asked, answer: Answer): void {
    const style = { seed: heard.length }
    const voice = column.voiceAt(asked.path)
    if (!isStream(asked)) {
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.end(counted(voice.whole(answer, style), asked))
      return
    }
    outgoing.writeHead(200, { 'content-type': column.mediaType })
    const events = voice.stream(answer, style)
    const said = events.map(([event, data]) => [event, counted(data, asked)] as const)
    outgoing.end(bytesOf(column.mediaType, said))
  }

  /** Sends the event with one word repeatedly. */
  async function speakOn(outgoing: ServerResponse, asked: Asked): Promise<void> {
    endless.begun = true
    outgoing.on('close', () => {
      endless.left = true
    })
    if (!isStream(asked)) return
    const answer = inVoice({ text: 'on-and-on ', calls: [] }, asked)
    const events = column.voiceAt(asked.path).stream(answer, { seed: 1, pieces: 'whole' })
    const at = events.findIndex(([, data]) => data.includes('on-and-on'))
    const [name = '', data = ''] = events[at] ?? []
    // Gemini's last text event contains the finish reason.
    const word = bytesOf(column.mediaType, [[name, data.replace(/,"finishReason":"STOP"/, '')]])
    outgoing.writeHead(200, { 'content-type': column.mediaType })
    outgoing.write(bytesOf(column.mediaType, events.slice(0, at)))
    while (!outgoing.destroyed) {
      outgoing.write(word)
      await delay(20)
    }
  }
}

/** Agents request a summary when the session's prompt has too many tokens. */
function counted(text: string, { body }: Asked): string {
  const tokens = Math.ceil(JSON.stringify(body).length / 4)
  return text
    .replace(
      /("(?:prompt|input|prompt_eval)_?(?:tokens|Tokens|TokenCount|count)":)9\b/g,
      `$1${tokens}`,
    )
    .replace(/("total_?(?:tokens|Tokens|TokenCount)":)14\b/g, `$1${tokens + 5}`)
}

/** Claude thinks if the request asks for it, at Anthropic and at Bedrock. */
function asksForThoughts(body: Asked['body']): boolean {
  const thinking = body.thinking ?? recordOf(body.additionalModelRequestFields).thinking
  return ['enabled', 'adaptive'].includes(String(recordOf(thinking).type))
}

function send(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify(body))
}
