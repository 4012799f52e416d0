/** A client of OpenAI's Responses. */
import { exactly, type Json, Raw, written } from '../json-text.ts'
import { type Call, type Conversation, PICTURE, type Turn } from '../model.ts'
import { withNumbers } from './chat.ts'
import { type Client, eventsIn, type Heard } from './contract.ts'

const IMAGE = { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` }

export const responsesClient: Client = {
  name: 'responses',
  write,
  readWhole: (text, forgets) => heardOf(exactly(text), forgets),
  readStream,
}

function write(conversation: Conversation, stream: boolean): string {
  const { system, turns, tools, maxTokens, effort, user, choice, format } = conversation
  return written({
    model: 'route',
    ...(system.length > 0 && { instructions: system.join('\n') }),
    input: turns.flatMap(itemsOf),
    ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    tool_choice: choice,
    max_output_tokens: maxTokens,
    reasoning: effort && { effort },
    text: format && {
      format: { type: 'json_schema', name: 'answer', schema: new Raw(format), strict: false },
    },
    user,
    store: false,
    ...(stream && { stream }),
  })
}

function toolOf({ name, description, schema }: Conversation['tools'][number]): Json {
  return { type: 'function', name, description, parameters: new Raw(schema), strict: false }
}

function itemsOf(turn: Turn, index: number): Json[] {
  if (turn.who === 'given') return turn.items.map((item) => new Raw(item))
  if (turn.who === 'user') {
    const parts: Json[] = turn.texts.map((text) => ({ type: 'input_text', text }))
    const content = turn.picture ? [...parts, IMAGE] : parts
    return [{ type: 'message', role: 'user', content }]
  }
  if (turn.who === 'model') {
    const items: Json[] = []
    if (turn.thinking) {
      const summary = [{ type: 'summary_text', text: turn.thinking.text }]
      items.push({ type: 'reasoning', id: `rs_${index}`, summary })
    }
    const content = [{ type: 'output_text', text: turn.text, annotations: [] }]
    if (turn.text !== '') items.push({ type: 'message', role: 'assistant', content })
    return [...items, ...turn.calls.map(callOf)]
  }
  const results = turn.results.map(({ id, text, picture }) => {
    const output = picture ? [{ type: 'input_text', text }, IMAGE] : text
    return { type: 'function_call_output', call_id: id, output }
  })
  const { then } = turn
  return then ? [...results, { type: 'message', role: 'user', content: then }] : results
}

function callOf({ id, name, args }: Call): Json {
  return { type: 'function_call', call_id: id, name, arguments: args }
}

/** The pieces must add up to the items, and the items to the whole. */
function readStream(text: string, forgets: boolean): Heard {
  const items: Json[] = []
  const grown: string[] = []
  let last: Json
  for (const { event, data } of eventsIn(text)) {
    const one = exactly(data)
    if (one.type !== event) throw new Error(`The event "${event}" holds "${one.type}".`)
    const at = Number(one.output_index?.text)
    if (one.type === 'response.output_item.added') {
      if (at in grown) throw new Error(`Item ${at} begins twice.`)
      grown[at] = ''
    } else if (
      /(output_text|refusal|arguments|reasoning_text|summary_text)\.delta$/.test(one.type)
    ) {
      if (!(at in grown)) throw new Error(`Item ${at} has not begun.`)
      grown[at] += one.delta
    } else if (one.type === 'response.output_item.done') {
      items[at] = one.item
      const whole = textOf(one.item)
      if (whole !== grown[at])
        throw new Error(`Item ${at} is "${whole}", and grew to "${grown[at]}".`)
    } else if (/^response\.(completed|incomplete|failed)$/.test(one.type)) last = one.response
    else if (one.type === 'error') last = undefined
  }
  if (last === undefined || last.status === 'failed') {
    const output = items.filter((item) => item !== undefined)
    return { ...heardOf({ output, status: 'incomplete' }, forgets), isWhole: false }
  }
  if (JSON.stringify(last.output) !== JSON.stringify(items))
    throw new Error('The output differs from its items.')
  return heardOf(last, forgets)
}

function textOf(item: Json): string {
  if (item.type === 'function_call') return item.arguments
  const parts = [...(item.summary ?? []), ...(item.content ?? [])]
  return parts.map((part: Json) => part.text ?? part.refusal ?? '').join('')
}

function heardOf({ output, status }: Json, forgets: boolean): Heard {
  const of = (type: string) => output.filter((item: Json) => item.type === type) as Json[]
  const calls = of('function_call')
  const thinking = of('reasoning').map(textOf).join('')
  const kept = output.filter(({ type }: Json) => !forgets || type !== 'reasoning')
  return {
    text: of('message').map(textOf).join(''),
    ...(thinking !== '' && { thinking: { text: thinking } }),
    calls: calls.map(({ call_id: id, name, arguments: args }) => ({ id, name, args })),
    endsWithCalls: calls.length > 0 && status === 'completed',
    items: kept.map((item: Json) => written(withNumbers(item))),
    isWhole: true,
  }
}
