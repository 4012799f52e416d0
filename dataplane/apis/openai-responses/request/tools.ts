/**
 * Converts tools of a response to functions of the inner form, and their names back. Functions in a namespace get one
 * name, and custom tools become functions with one text.
 */
import { hash } from 'node:crypto'
import type { GatewayError } from '../../../base/errors.ts'
import { invalid } from '../../../body/request.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../../json/values.ts'
import { extraOfTool } from '../../../providers/extras/asked.ts'
import { CLIENTS, isHosted } from '../../../providers/extras/hosted-tools.ts'
import type { AskedExtra } from '../../../wire/extras.ts'
import type { Lacks } from './lacks.ts'
import type { ResponsesBody } from './shape.ts'
import { isStrictable } from './strict.ts'

/** A function of the inner form, as the client knows it. */
export interface ClientTool {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace?: string
}

const NAME_LENGTH_MAX = 64
const HASH_LENGTH = 16
const CUSTOM_PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}
const MODES: readonly unknown[] = ['none', 'auto', 'required']

export class Tools {
  /** Tools that chat completions do not have, as `tools[1] (web_search)`. */
  readonly dropped: string[] = []
  /** Those of them that an upstream would run. */
  readonly hosted: AskedExtra[] = []
  readonly #functions: Json[] = []
  readonly #known = new Map<string, ClientTool>()
  readonly #choice: unknown
  readonly #lacks: Lacks

  /** Throws ERR_GW_INVALID_REQUEST. */
  constructor({ tools, tool_choice: choice, input }: ResponsesBody, lacks: Lacks) {
    this.#choice = choice
    this.#lacks = lacks
    for (const [index, tool] of listOf(tools).entries())
      this.#add(recordOf(tool), `tools[${index}]`, undefined)
    for (const [index, item] of listOf(input).map(recordOf).entries())
      if (item.type === 'additional_tools') this.#addMore(item, `input[${index}]`)
  }

  /** Agents add tools within a conversation, and may repeat those that they have sent before. */
  #addMore({ tools }: Json, param: string): void {
    const before = new Set(this.#known.keys())
    for (const [index, tool] of listOf(tools).entries())
      this.#add(recordOf(tool), `${param}.tools[${index}]`, undefined, before)
  }

  /** Members of the inner form. */
  members(): Json {
    const allowed = this.#allowed()
    const tools = this.#functions.filter(({ name }) => allowed?.includes(name) ?? true)
    const choice = this.#choiceOf(recordOf(this.#choice))
    if (
      tools.length === 0 &&
      this.dropped.length > 0 &&
      choice !== undefined &&
      choice !== 'auto' &&
      choice !== 'none'
    )
      throw missing(choice)
    if (tools.length === 0) return {}
    return {
      tools: tools.map((one) => ({ type: 'function', function: one })),
      ...(choice !== undefined && { tool_choice: choice }),
    }
  }

  /** The inner form's name of a tool that the client names. */
  innerName(name: string, namespace: string | undefined): string {
    return namespace === undefined ? name : flattened(namespace, name)
  }

  /** The client's name of the tool. */
  clientTool(name: string): ClientTool {
    return this.#known.get(name) ?? { kind: 'function', name }
  }

  #add(
    tool: Json,
    param: string,
    namespace: string | undefined,
    before?: ReadonlySet<string>,
  ): void {
    const name = textOf(tool.name)
    if (tool.type === 'namespace' && name !== undefined && namespace === undefined) {
      const inner = listOf(tool.tools)
      for (const [at, one] of inner.entries())
        this.#add(recordOf(one), `${param}.tools[${at}]`, name, before)
      return
    }
    if (tool.type !== 'function' && tool.type !== 'custom') {
      const shown = `${param} (${textOf(tool.type) ?? 'unknown'})`
      this.dropped.push(shown)
      if (isHosted(tool)) this.hosted.push({ extra: extraOfTool(tool.type), param: shown })
      return
    }
    if (name === undefined) throw invalid(`"${param}.name" is required.`, `${param}.name`)
    const called = this.innerName(name, namespace)
    if (before?.has(called)) return
    if (this.#known.has(called))
      throw invalid(`Two tools have the name "${called}".`, `${param}.name`)
    this.#known.set(called, { kind: tool.type, name, ...(namespace && { namespace }) })
    this.#functions.push(
      tool.type === 'custom'
        ? customOf(tool, called, param, this.#lacks)
        : functionOf(tool, called),
    )
  }

  #allowed(): readonly unknown[] | undefined {
    const { type, tools } = recordOf(this.#choice)
    if (type !== 'allowed_tools') return undefined
    return listOf(tools).map((one) => {
      const { name, namespace } = recordOf(one)
      return this.innerName(String(name), textOf(namespace))
    })
  }

  #choiceOf({ type, name, namespace, mode }: Json): unknown {
    if (MODES.includes(this.#choice)) return this.#choice
    if (type === 'allowed_tools') return mode
    if (type === undefined) return undefined
    const called = this.innerName(String(name), textOf(namespace))
    if (this.#known.has(called)) return { type: 'function', function: { name: called } }
    const refusal = missing(textOf(name) ?? type)
    if (!CLIENTS.includes(type)) throw refusal
    this.#lacks.note(refusal.message, 'tool_choice')
    return undefined
  }
}

function missing(what: unknown): GatewayError {
  const message = `"tool_choice" (${String(what)}) asks for a tool that models behind this gateway do not have.`
  return invalid(message, 'tool_choice')
}

/** Upstreams accept 64 characters; a hash keeps longer names distinct. */
function flattened(namespace: string, name: string): string {
  const joined = `${namespace}__${name}`
  if (joined.length <= NAME_LENGTH_MAX) return joined
  const tail = hash('sha256', joined).slice(0, HASH_LENGTH)
  return `${joined.slice(0, NAME_LENGTH_MAX - HASH_LENGTH - 1)}_${tail}`
}

/** By default a function is strict in this API, but not in chat completions. */
function functionOf({ description, parameters, strict }: Json, name: string): Json {
  const schema = isRecord(parameters) ? parameters : { type: 'object', properties: {} }
  return {
    name,
    ...(textOf(description) && { description }),
    parameters: schema,
    strict: typeof strict === 'boolean' ? strict : isStrictable(schema),
  }
}

function customOf({ description, format }: Json, name: string, param: string, lacks: Lacks): Json {
  if (recordOf(format).type === 'grammar')
    lacks.note('Models behind this gateway do not support grammars.', `${param}.format`)
  return {
    name,
    ...(textOf(description) && { description }),
    parameters: CUSTOM_PARAMETERS,
    strict: true,
  }
}
