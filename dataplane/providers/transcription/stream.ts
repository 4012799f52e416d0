/** Streams of transcriptions: OpenAI's events, and chunks like those of conversations, which become OpenAI's events. */
import type { KeptText } from '../../base/kept-text.ts'
import { isRecord, listOf, parsed, recordOf, textOf } from '../../json/values.ts'
import { AnswerFacts } from '../../wire/answer-facts.ts'
import type { WireMeaning, WireReader } from '../../wire/provider.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, type Recogniser } from '../failures/classify.ts'
import { usageOf } from './usage.ts'

const NOTHING: WireMeaning = { out: '', content: false, finished: false, done: false }
const END = '[DONE]'

/** OpenAI's events pass unchanged; `transcript.text.done` ends them. */
export function openEvents(recognisers: readonly Recogniser[]): WireReader {
  return {
    passesComments: true,
    facts: new AnswerFacts(),
    read({ data }) {
      if (data === END) return NOTHING
      const json = parsed(data)
      if (!isRecord(json)) return { ...NOTHING, out: 'same', broken: true }
      if (isError(json)) return { ...NOTHING, failure: classifyError(recognisers, json) }
      const type = textOf(json.type) ?? ''
      const done = type === 'transcript.text.done'
      const usage = done ? usageOf(json) : undefined
      const content = done || type.startsWith('transcript.text.')
      return { out: 'same', content, finished: done, done, ...(usage && { usage }) }
    },
    end: () => '',
  }
}

/** vLLM's chunks as OpenAI's events; the last event repeats the text. */
export function openChunks(recognisers: readonly Recogniser[], kept: KeptText): WireReader {
  let text = ''
  let usage: WireMeaning['usage']
  const event = (members: object) => `data: ${JSON.stringify(members)}\n\n`
  return {
    passesComments: false,
    facts: new AnswerFacts(),
    read({ data }) {
      if (data === END) {
        const out = event({ type: 'transcript.text.done', text, ...(usage && shown(usage)) })
        return { out, content: true, finished: true, done: true }
      }
      const json = parsed(data)
      if (!isRecord(json)) return { ...NOTHING, broken: true }
      if (isError(json)) return { ...NOTHING, failure: classifyError(recognisers, json) }
      usage = usageOf(json) ?? usage
      const counted = usage && { usage }
      const delta = textOf(recordOf(recordOf(listOf(json.choices)[0]).delta).content)
      if (delta === undefined) return { ...NOTHING, ...counted }
      kept.keep(delta)
      text += delta
      const out = event({ type: 'transcript.text.delta', delta })
      return { ...NOTHING, out, content: true, ...counted }
    },
    end: () => '',
  }
}

function shown({ promptTokens, completionTokens }: NonNullable<WireMeaning['usage']>): object {
  const usage = {
    type: 'tokens',
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
  return { usage }
}
