/** Translates the settings of a message request into members of the inner form. */

import { isRecord, type Json, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import { isStrictable } from '../openai-responses/request/strict.ts'
import type { MessagesBody } from './shape.ts'

type Lacks = (what: NonNullable<ChatRequest['untranslated']>) => void

const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', any: 'required', none: 'none' }
/** Thinking budgets below these numbers of tokens become a low and a medium effort. */
const LOW_BELOW = 4_096
const MEDIUM_BELOW = 16_384

export function optionsOf(body: MessagesBody, lacks: Lacks): Json {
  for (const member of ['container', 'mcp_servers']) {
    if (body[member] != null)
      lacks({ param: member, message: `"${member}" is supported only by Anthropic's own API.` })
  }
  if (body.max_tokens === 0)
    lacks({ param: 'max_tokens', message: 'This model answers with at least one token.' })
  const tools = toolsOf(body, lacks)
  const stop = listOf(body.stop_sequences)
  const effort = effortOf(body)
  const format = recordOf(recordOf(body.output_config).format)
  const user = textOf(recordOf(body.metadata).user_id)
  return {
    ...(tools.length > 0 && { tools, ...choiceOf(recordOf(body.tool_choice)) }),
    ...(stop.length > 0 && { stop }),
    ...(typeof body.temperature === 'number' && { temperature: body.temperature }),
    ...(typeof body.top_p === 'number' && { top_p: body.top_p }),
    ...(effort && { reasoning_effort: effort }),
    ...(format.type === 'json_schema' && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: format.schema, strict: isStrictable(format.schema) },
      },
    }),
    ...(user && { user }),
  }
}

function toolsOf(body: MessagesBody, lacks: Lacks): Json[] {
  return listOf(body.tools).map((one, index) => {
    const tool = recordOf(one)
    const { name, description, input_schema: parameters, strict } = tool
    if (!isRecord(parameters)) {
      const what = textOf(tool.type) ?? textOf(name) ?? ''
      const message = `The tool "${what}" runs only at Anthropic's own API; give an input_schema.`
      lacks({ param: `tools.${index}`, message })
    }
    const written = textOf(description) && { description }
    return {
      type: 'function',
      function: { name, ...written, parameters, ...(strict === true && { strict }) },
      ...(isRecord(tool.cache_control) && { cache_control: tool.cache_control }),
    }
  })
}

function choiceOf({ type, name, disable_parallel_tool_use: alone }: Json): Json {
  const parallel = alone === true && { parallel_tool_calls: false }
  if (type === 'tool') return { tool_choice: { type: 'function', function: { name } }, ...parallel }
  const choice = rowOf(CHOICES, type)
  return { ...(choice && { tool_choice: choice }), ...parallel }
}

/** An explicit effort overrides a thinking budget. */
function effortOf({ output_config: output, thinking }: MessagesBody): string | undefined {
  const { type, budget_tokens: budget } = recordOf(thinking)
  const written = textOf(recordOf(output).effort)
  if (type === 'disabled') return 'none'
  if (written !== undefined) return written
  if (type !== 'enabled' || typeof budget !== 'number') return undefined
  if (budget < LOW_BELOW) return 'low'
  return budget < MEDIUM_BELOW ? 'medium' : 'high'
}
