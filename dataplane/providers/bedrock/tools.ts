/** The tools of a request and the tool choice. */

import { type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import { unsupported } from '../../wire/unsupported.ts'
import { markOfTool } from '../marks.ts'
import { closedSchema, objectSchema } from '../schemas.ts'
import { facts } from './facts.ts'
import { calledNames } from './messages.ts'
import { cachePoint } from './parts.ts'
import { isClaude } from './traits.ts'

interface Tools {
  readonly toolConfig?: Json
  /** A choice that only Claude supports, in Claude's form; the API passes it on. */
  readonly choice?: Json
}

interface ToolChoice {
  readonly mode: unknown
  /** The one tool that the model must call. */
  readonly named: string | undefined
  /** The tools that the model may call; undefined: all. */
  readonly allowed: readonly unknown[] | undefined
}

const ANYTHING: Json = { json: { type: 'object' } }

export function toolsOf(body: ChatBody, capabilities: Capabilities): Tools {
  const ofClaude = isClaude(capabilities)
  const choice = choiceOf(body.tool_choice)
  const { mode, allowed } = choice
  const called = calledNames(body.messages)
  const declared = listOf(body.tools)
    .map((tool) => toolSpec(tool, ofClaude))
    .filter(({ name }) => allowed === undefined || allowed.includes(name))
  const isForbidden = mode === 'none'
  // Claude supports this choice, and its cache starts with the tools. Other models make no calls without tools, but a
  // conversation with calls must declare its tools.
  const isHidden = isForbidden && !ofClaude && called.length === 0
  const shown = isHidden ? [] : declared
  const specs = shown.length > 0 ? shown : called.map((name) => ({ name, inputSchema: ANYTHING }))
  if (specs.length === 0) return {}
  const pointsOf = pointsIn(body, ofClaude)
  const tools = specs.flatMap((spec) => [{ toolSpec: spec }, ...(pointsOf.get(spec.name) ?? [])])
  const inWords = ofClaude ? claudeChoice(choice, body) : undefined
  // The API refuses a choice in two places.
  if (inWords !== undefined) return { toolConfig: { tools }, choice: { tool_choice: inWords } }
  if (declared.length === 0 || isForbidden) return { toolConfig: { tools } }
  return { toolConfig: { tools, ...toolChoice(choice) } }
}

/** Whether tools have marks that this model refuses: other families accept them only after messages. */
export function losesMarks({ tools }: ChatBody, capabilities: Capabilities): boolean {
  if (isClaude(capabilities)) return false
  return listOf(tools).some((tool) => markOfTool(recordOf(tool)) !== undefined)
}

function pointsIn(body: ChatBody, ofClaude: boolean): Map<unknown, readonly Json[]> {
  const points = new Map<unknown, readonly Json[]>()
  if (!ofClaude) return points
  for (const tool of listOf(body.tools).map(recordOf)) {
    const mark = markOfTool(tool)
    if (mark !== undefined) points.set(recordOf(tool.function).name, [cachePoint(mark)])
  }
  return points
}

function toolChoice({ mode, named }: ToolChoice): Json {
  if (named !== undefined) return { toolChoice: { tool: { name: named } } }
  if (mode === 'required') return { toolChoice: { any: {} } }
  return mode === 'auto' ? { toolChoice: { auto: {} } } : {}
}

/** undefined if the API expresses the whole choice. */
function claudeChoice({ mode, named }: ToolChoice, body: ChatBody): Json | undefined {
  if (mode === 'none') return { type: 'none' }
  if (body.parallel_tool_calls !== false || listOf(body.tools).length === 0) return undefined
  const alone = { disable_parallel_tool_use: true }
  if (named !== undefined) return { type: 'tool', name: named, ...alone }
  return { type: mode === 'required' ? 'any' : 'auto', ...alone }
}

function choiceOf(written: unknown): ToolChoice {
  const choice = recordOf(written)
  const { mode, tools } = recordOf(choice.allowed_tools)
  const named = textOf(recordOf(choice.function).name)
  if (choice.type !== 'allowed_tools') return { mode: written, named, allowed: undefined }
  const allowed = listOf(tools).map((tool) => recordOf(recordOf(tool).function).name)
  return { mode, named: undefined, allowed }
}

function toolSpec(tool: unknown, ofClaude: boolean): Json {
  const { name, description, parameters, strict } = recordOf(recordOf(tool).function)
  if (textOf(name) === undefined) {
    throw unsupported(facts.name, 'tools', 'send only tools of type function')
  }
  const schema = objectSchema(parameters)
  const isClosed = strict === true && ofClaude
  return {
    name,
    ...(textOf(description)?.trim() && { description }),
    inputSchema: { json: isClosed ? closedSchema(schema) : schema },
    ...(strict === true && { strict }),
  }
}
