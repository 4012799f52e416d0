/** Converts the items of a response's input to messages of the inner form. */
import { invalid } from '../../../body/request.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../json/values.ts'
import { withoutHosted } from '../../../providers/extras/hosted-tools.ts'
import type { ChatMessage } from '../../../wire/inner-form.ts'
import { Lacks } from './lacks.ts'
import { partsOf, textParts } from './parts.ts'
import type { ResponsesBody } from './shape.ts'
import { Tools } from './tools.ts'

/** Files belong to an account, and do not show to which tenant. */
const FILE_ID = '"file_id":'
const NO_FILES = 'This gateway stores no files; send the data itself.'
const NO_REFERENCES =
  'An item_reference names a stored item, but this gateway stores none; send the items themselves. ' +
  'SDKs do so with "store": false, a provider option in the Vercel AI SDK.'
/** Like the entries of `tools` in a request, which are omitted. */
const NO_HOSTED =
  'The upstream would run these tools at a cost that the gateway cannot limit; send only functions.'
/** They name stored objects of an account, or change what the gateway has decided about the request. */
const REFUSED: readonly string[] = ['configuration_update', 'item_reference']
const ROLES: readonly unknown[] = ['user', 'assistant', 'system', 'developer']

/** Throws ERR_GW_INVALID_REQUEST with the item that is at fault. */
export function messagesOf(
  { input, instructions, previous_response_id: previous, conversation }: ResponsesBody,
  tools: Tools,
  lacks: Lacks,
): ChatMessage[] {
  const turns = new Turns(tools, lacks, previous != null || conversation != null)
  const leading = textOf(instructions)
  if (leading !== undefined) turns.say({ role: 'system', content: leading })
  if (typeof input === 'string') {
    if (input !== '') turns.say({ role: 'user', content: input })
  } else {
    for (const [index, item] of listOf(input).entries()) turns.add(item, `input[${index}]`)
  }
  return turns.end()
}

/** Throws ERR_GW_INVALID_REQUEST for items that a tenant's conversation must not contain. */
export function checkItems(items: unknown, param: string): void {
  if (!Array.isArray(items)) throw invalid(`"${param}" must be an array of items.`, param)
  const lacks = new Lacks()
  const turns = new Turns(new Tools({ model: '' }, lacks), lacks, true)
  for (const [index, item] of items.entries()) turns.add(item, `${param}[${index}]`)
  const [file] = lacks.files
  if (file !== undefined) throw invalid(NO_FILES, file.param)
}

/** Joins the calls of one turn into one message. Their results follow, then the results' pictures, then other words. */
class Turns {
  readonly #tools: Tools
  readonly #lacks: Lacks
  /** Whether calls may be in an earlier response. */
  readonly #isContinued: boolean
  readonly #messages: ChatMessage[] = []
  /** The unfinished assistant message. */
  #text: string | undefined
  #thought: string | undefined
  #calls: Json[] = []
  /** Pictures of the model. */
  #images: Json[] = []
  #results: ChatMessage[] = []
  #pictures: Json[] = []
  /** Messages between calls and their results. */
  #between: ChatMessage[] = []
  readonly #called = new Set<string>()
  readonly #answered = new Set<string>()

  constructor(tools: Tools, lacks: Lacks, isContinued: boolean) {
    this.#tools = tools
    this.#lacks = lacks
    this.#isContinued = isContinued
  }

  add(raw: unknown, param: string): void {
    if (!isRecord(raw)) throw invalid(`"${param}" must be an object.`, param)
    const item = raw
    switch (item.type ?? (item.role === undefined ? 'item_reference' : 'message')) {
      case 'message':
        this.#message(item, param)
        return
      case 'function_call':
        this.#call(item, textOf(item.arguments) ?? '{}', param)
        return
      case 'custom_tool_call':
        this.#call(item, JSON.stringify({ input: item.input ?? '' }), param)
        return
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.#result(item, param)
        return
      case 'reasoning':
        this.#think(item)
        return
      case 'image_generation_call':
        if (this.#paint(item)) return
    }
    const type = textOf(item.type) ?? 'item_reference'
    const message = `Items of type "${type}" need an API that keeps state or runs tools; this gateway does neither.`
    const why = type === 'item_reference' ? NO_REFERENCES : message
    if (REFUSED.includes(type)) throw invalid(why, `${param}.type`)
    if (withoutHosted(item.tools) !== undefined) throw invalid(NO_HOSTED, `${param}.tools`)
    if (JSON.stringify(item).includes(FILE_ID)) throw invalid(NO_FILES, param)
    // Its tools are among those of the request.
    if (type !== 'additional_tools') this.#lacks.note(message, `${param}.type`)
  }

  say(message: ChatMessage): void {
    if (this.#calls.some(({ id }) => !this.#answered.has(String(id)))) {
      this.#between.push(message)
      return
    }
    this.#flush()
    this.#messages.push(message)
  }

  /** Throws if a call has no result, because an upstream would have to guess it. */
  end(): ChatMessage[] {
    this.#flush()
    const open = [...this.#called].find((id) => !this.#answered.has(id))
    if (open !== undefined) throw invalid(`The call "${open}" has no output in "input".`, 'input')
    return this.#messages
  }

  #message(item: Json, param: string): void {
    const { role, content } = item
    if (!ROLES.includes(role))
      throw invalid(
        `"${param}.role" must be user, assistant, system or developer.`,
        `${param}.role`,
      )
    if (role !== 'assistant') {
      const said =
        typeof content === 'string' ? content : partsOf(content, `${param}.content`, this.#lacks)
      this.say({ role: String(role), content: said })
      return
    }
    if (this.#results.length > 0) this.#flush()
    const text =
      typeof content === 'string' ? content : textParts(content, `${param}.content`, this.#lacks)
    this.#text = this.#text === undefined ? text : `${this.#text}\n${text}`
  }

  /** Only its text: only the unknown model that sealed the rest could open it. */
  #think({ content, summary, encrypted_content: sealed }: Json): void {
    if (textOf(sealed) !== undefined) return
    const parts = listOf(content).length > 0 ? listOf(content) : listOf(summary)
    const text = parts.flatMap((part) => textOf(recordOf(part).text) ?? []).join('\n')
    if (text === '') return
    if (this.#results.length > 0) this.#flush()
    this.#thought = this.#thought === undefined ? text : `${this.#thought}\n${text}`
  }

  /** Returns false without the bytes, which only the API that created the picture has. */
  #paint({ result, output_format: format }: Json): boolean {
    const data = textOf(result)
    if (data === undefined) return false
    if (this.#results.length > 0) this.#flush()
    const url = `data:image/${textOf(format) ?? 'png'};base64,${data}`
    this.#images.push({ type: 'image_url', image_url: { url } })
    return true
  }

  #call({ call_id: id, name, namespace }: Json, text: string, param: string): void {
    const callId = textOf(id)
    const called = textOf(name)
    if (callId === undefined || called === undefined)
      throw invalid(`"${param}" needs a call_id and a name.`, param)
    if (this.#results.length > 0) this.#flush()
    this.#called.add(callId)
    const inner = this.#tools.innerName(called, textOf(namespace))
    this.#calls.push({ id: callId, type: 'function', function: { name: inner, arguments: text } })
  }

  #result({ call_id: id, output }: Json, param: string): void {
    const callId = textOf(id) ?? ''
    if (!this.#called.has(callId) && !this.#isContinued)
      throw invalid(`The output of "${callId}" has no call before it.`, `${param}.call_id`)
    this.#answered.add(callId)
    const parts = typeof output === 'string' ? [] : partsOf(output, `${param}.output`, this.#lacks)
    const texts = parts.flatMap(({ text }) => textOf(text) ?? [])
    const content = typeof output === 'string' ? output : texts.join('\n')
    this.#results.push({ role: 'tool', tool_call_id: callId, content })
    this.#pictures.push(...parts.filter(({ type }) => type !== 'text'))
  }

  #flush(): void {
    if (this.#text !== undefined || this.#calls.length > 0 || this.#images.length > 0) {
      this.#messages.push({
        role: 'assistant',
        content: this.#text ?? null,
        ...(this.#thought !== undefined && { reasoning_content: this.#thought }),
        ...(this.#images.length > 0 && { images: this.#images }),
        ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
      })
    }
    this.#messages.push(...this.#results)
    if (this.#pictures.length > 0) this.#messages.push({ role: 'user', content: this.#pictures })
    this.#messages.push(...this.#between)
    this.#between = []
    this.#text = undefined
    this.#thought = undefined
    this.#calls = []
    this.#images = []
    this.#results = []
    this.#pictures = []
  }
}
