/** Names that the API server takes for a gateway, and refuses for the objects that are made of it. */
import { NAME_RULE } from '../../crds/gateway-config.ts'
import { refuse } from '../../dataplane/config/judgement/problems.ts'
import type { ClusterCheck } from './contract.ts'

export const nameableObjects: ClusterCheck = ({ gateway }) => {
  const { name } = gateway.metadata
  if (NAME_RULE.holds(name)) return []
  const message = `"${name}" cannot be the name of a Service, which every gateway has`
  const fix = 'Use at most 63 lower-case letters, digits and -, beginning with a letter.'
  return [refuse(['metadata', 'name'], message, fix)]
}
