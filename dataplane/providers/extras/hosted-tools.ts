/** Tools of a response that the upstream runs, and those that the client runs. */
import { isRecord, type Json, listOf, recordOf } from '../../json/values.ts'
import { extraOfTool } from './asked.ts'

/** Tools that the API defines but the client runs. */
export const CLIENTS: readonly unknown[] = [
  'apply_patch',
  'computer',
  'computer_use_preview',
  'local_shell',
  'shell',
]

/** Removes tools that the upstream would run without permission; undefined if there are none. */
export function withoutHosted(
  tools: unknown,
  allow: readonly string[] = [],
): readonly unknown[] | undefined {
  const all = listOf(tools)
  const kept = all.flatMap((tool) => {
    const inner = isRecord(tool) && tool.type === 'namespace' && withoutHosted(tool.tools, allow)
    if (inner) return [{ ...recordOf(tool), tools: inner }]
    const { type, ...rest } = recordOf(tool)
    const isAllowed = !isHosted({ type, ...rest }) || allow.includes(extraOfTool(type))
    return isAllowed ? [tool] : []
  })
  return kept.every((tool, index) => tool === all[index]) && kept.length === all.length
    ? undefined
    : kept
}

/** The upstream runs a shell in a container. */
export function isHosted({ type, environment }: Json): boolean {
  if (type === 'function' || type === 'custom' || type === 'namespace') return false
  const place = recordOf(environment).type
  return !CLIENTS.includes(type) || (place !== undefined && place !== 'local')
}
