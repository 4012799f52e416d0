/** Tools of a response that the upstream runs, and those that the client runs. */
import { isRecord, type Json, listOf, recordOf } from '../../json/values.ts'
import { extraOfTool } from './asked.ts'

/** Tools that the client runs though the API defines them. */
export const CLIENTS: readonly unknown[] = [
  'apply_patch',
  'computer',
  'computer_use_preview',
  'local_shell',
  'shell',
]

/** Without the tools that an upstream would run and that are not allowed; undefined where there are none of them. */
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

/** A shell in a container is the upstream's. */
export function isHosted({ type, environment }: Json): boolean {
  if (type === 'function' || type === 'custom' || type === 'namespace') return false
  const place = recordOf(environment).type
  return !CLIENTS.includes(type) || (place !== undefined && place !== 'local')
}
