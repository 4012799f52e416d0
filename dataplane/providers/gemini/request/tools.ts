/** Tools, and which of them the model may or must call. */

import { isRecord, type Json, listOf, recordOf, textOf } from '../../../json/values.ts'
import type { ChatBody } from '../../../wire/inner-form.ts'
import { unsupported } from '../../../wire/unsupported.ts'
import { facts } from '../facts.ts'

/** The members `tools` and `toolConfig`; empty if the client gives no tools. */
export function toolMembers(body: ChatBody): Json {
  const tools = listOf(body.tools).map((tool) => recordOf(recordOf(tool).function))
  if (tools.length === 0) return {}
  const allowed = allowedNames(body)
  const offered = tools
    .map(declarationOf)
    .filter(({ name }) => allowed === undefined || allowed.includes(name))
  if (offered.length === 0) throw unsupported(facts.name, 'tool_choice', 'allow one of the tools')
  const calling = callingOf(body, tools)
  return {
    tools: [{ functionDeclarations: offered }],
    ...(calling && { toolConfig: { functionCallingConfig: calling } }),
  }
}

function declarationOf({ name, description, parameters }: Json): Json {
  if (textOf(name) === undefined) {
    throw unsupported(facts.name, 'tools', 'send only tools of type function')
  }
  return {
    name,
    ...(textOf(description) && { description }),
    ...(isRecord(parameters) && { parametersJsonSchema: parameters }),
  }
}

function allowedNames(body: ChatBody): unknown[] | undefined {
  const choice = recordOf(body.tool_choice)
  if (choice.type !== 'allowed_tools') return undefined
  const tools = listOf(recordOf(choice.allowed_tools).tools)
  return tools.map((tool) => recordOf(recordOf(tool).function).name)
}

function callingOf(body: ChatBody, tools: readonly Json[]): Json | undefined {
  const choice = body.tool_choice
  const given = recordOf(choice)
  const named = textOf(recordOf(given.function).name)
  if (named !== undefined) return { mode: 'ANY', allowedFunctionNames: [named] }
  if (given.type === 'custom') {
    throw unsupported(facts.name, 'tool_choice', 'choose a tool of type function')
  }
  const mode = recordOf(given.allowed_tools).mode ?? choice
  if (mode === 'none') return { mode: 'NONE' }
  // In this mode calls follow the schemas of the tools.
  if (mode === 'required') return { mode: 'ANY' }
  if (tools.some(({ strict }) => strict === true)) return { mode: 'VALIDATED' }
  return mode === 'auto' ? { mode: 'AUTO' } : undefined
}
