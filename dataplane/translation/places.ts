/** Where names of tools and ids of calls stand, in the requests and answers of all wires. */
import type { StringPath } from './strings.ts'

export const NAME_OR_ID: ReadonlySet<string> = new Set([
  'name',
  'id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
])

/** All below them is the model's, the tools' or the client's: no name of a tool, and no id. */
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

/** `input` and `output` are also lists of items at the top of a request or an answer. */
export function isFree(path: StringPath): boolean {
  for (let at = 0; at < path.length - 1; at++) {
    const isList = typeof path[at + 1] === 'number'
    const isItems = isList && (path[at] === 'input' || path[at] === 'output')
    if (FREE.has(path[at] as string) && !isItems) return true
  }
  return false
}
