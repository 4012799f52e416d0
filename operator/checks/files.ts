/** Settings that name files of the machine: a pod has none, but for the Secrets that it mounts. */

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
          'Write the keys under gw.api_keys, or make GatewayKey resources of them.',
        ),
      ]),
  ...(gw.state_dir === undefined
    ? []
    : [
        refuse(
          ['gw', 'state_dir'],
          'a pod keeps no files over its restart',
          'Remove it, and give rate_limits a redis url: budgets are kept there.',
        ),
      ]),
  ...(valueBelow(gw, 'usage', 'sinks', 'file') === undefined
    ? []
    : [
        refuse(
          ['gw', 'usage', 'sinks', 'file'],
          'a pod keeps no files over its restart',
          'Write webhook: or otlp: in its place.',
        ),
      ]),
]

/**
 * Every `${file:}` below `value`. In a pod a path may lead to a Secret that the author was never asked about, so that
 * none is read; `${secret:NAME/KEY}` says which Secret is meant, and the admission policy can judge it.
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
