/** Settings that name files of the machine: a pod has none. */
import { refuse } from '../../dataplane/config/problems.ts'
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
]
