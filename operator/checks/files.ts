/** Settings that refer to local files: a pod has no files except its mounted Secrets. */

import { splitReferences } from '../../dataplane/config/document/reference-syntax.ts'
import { type Finding, type Path, refuse } from '../../dataplane/config/judgement/problems.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { ClusterCheck } from './contract.ts'

export const filesOfOurOwn: ClusterCheck = ({ gw }) => [
  ...(gw.api_keys_file === undefined
    ? []
    : [
        refuse(
          ['gw', 'api_keys_file'],
          'a pod has no such file',
          'Write the keys under gw.api_keys, or create GatewayKey resources.',
        ),
      ]),
  ...(gw.state_dir === undefined
    ? []
    : [
        refuse(
          ['gw', 'state_dir'],
          'a pod keeps no files across a restart',
          'Remove it, and set rate_limits.redis.url: budgets are kept in Redis.',
        ),
      ]),
  ...(valueBelow(gw, 'usage', 'sinks', 'file') === undefined
    ? []
    : [
        refuse(
          ['gw', 'usage', 'sinks', 'file'],
          'a pod keeps no files across a restart',
          'Write webhook: or otlp: instead.',
        ),
      ]),
]

/**
 * Every `${file:}` below `value`. In a pod, a path could lead to any Secret, past the admission policy, so no path is
 * read. `${secret:NAME/KEY}` names the Secret, so that the policy can judge it.
 */
export function fileReferences(value: unknown, path: Path): Finding[] {
  if (typeof value === 'string') return isFile(value) ? [refuse(path, NO_FILE, USE_SECRET)] : []
  if (Array.isArray(value)) {
    return value.flatMap((entry, index) => fileReferences(entry, [...path, index]))
  }
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([name, entry]) => fileReferences(entry, [...path, name]))
}

const NO_FILE = '${file:} is not read in a cluster'
const USE_SECRET = 'Put the value into a Secret, and write ${secret:NAME/KEY}.'

function isFile(text: string): boolean {
  if (!text.includes('${file:')) return false
  return splitReferences(text).some(
    (piece) => 'reference' in piece && piece.reference.kind === 'file',
  )
}
