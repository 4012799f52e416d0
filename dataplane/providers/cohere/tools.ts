/** Tools and the tool choice. For a named tool, the model gets only that tool. */

import { isRecord, type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'
import { type Unsupported, unsupported } from '../../wire/unsupported.ts'
import { facts } from './facts.ts'

export function toolsOf(body: ChatBody): Json {
  const given = listOf(body.tools).map((tool) => recordOf(recordOf(tool).function))
  if (given.length === 0) return {}
  if (given.some(({ name }) => textOf(name) === undefined)) {
    throw refused('tools', 'send only tools of type function')
  }
  const { mode, names } = choiceOf(body.tool_choice)
  const shown = given.filter(({ name }) => names?.includes(name) ?? true)
  if (shown.length === 0) throw refused('tool_choice', 'name one of the tools')
  return {
    tools: shown.map(toolOf),
    ...(mode !== undefined && { tool_choice: mode }),
    ...(shown.every(({ strict }) => strict === true) && { strict_tools: true }),
  }
}

function toolOf({ name, description, parameters }: Json): Json {
  const about = textOf(description)
  const schema = isRecord(parameters) ? parameters : { type: 'object', properties: {} }
  const called = { name, ...(about !== undefined && { description: about }), parameters: schema }
  return { type: 'function', function: called }
}

/** `names`: the tools that the choice allows; undefined: all. */
function choiceOf(choice: unknown): { mode: string | undefined; names?: readonly unknown[] } {
  if (!isRecord(choice)) return { mode: modeOf(choice) }
  if (choice.type === 'allowed_tools') {
    const { mode, tools } = recordOf(choice.allowed_tools)
    const names = listOf(tools).map((tool) => recordOf(recordOf(tool).function).name)
    return { mode: modeOf(mode), names }
  }
  const { name } = recordOf(choice.function)
  if (textOf(name) === undefined) throw refused('tool_choice', 'name a function')
  return { mode: 'REQUIRED', names: [name] }
}

function modeOf(mode: unknown): string | undefined {
  if (mode === 'none') return 'NONE'
  return mode === 'required' ? 'REQUIRED' : undefined
}

function refused(param: string, fix: string): Unsupported {
  return unsupported(facts.name, param, fix)
}
