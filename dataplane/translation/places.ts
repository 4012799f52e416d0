/** The positions of tool names and call ids in the requests and answers of all wires. */
import type { StringPath } from './strings.ts'

export const NAME_OR_ID: ReadonlySet<string> = new Set([
  'name',
  'id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
])

/** Everything below these belongs to the model, the tools or the client, so it contains no tool name and no id. */
const FREE: ReadonlySet<string> = new Set([
  'arguments',
  'input',
  'input_schema',
  'json_schema',
  'metadata',
  'output',
  'parameters',
  'schema',
])

/** `input` and `output` are also lists of items at the top level of a request or an answer. */
export function isFree(path: StringPath): boolean {
  for (let at = 0; at < path.length - 1; at++) {
    const isList = typeof path[at + 1] === 'number'
    const isItems = isList && (path[at] === 'input' || path[at] === 'output')
    if (FREE.has(path[at] as string) && !isItems) return true
  }
  return false
}
