/** Names that the API server accepts for a gateway but refuses for the objects of the gateway. */
import { NAME_RULE } from '../../crds/gateway-config.ts'
import { refuse, warn } from '../../dataplane/config/judgement/problems.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { fitsService, names } from '../kube/names.ts'
import type { ClusterCheck } from './contract.ts'

export const nameableObjects: ClusterCheck = ({ gateway }) => {
  const { name } = gateway.metadata
  if (NAME_RULE.holds(name)) return []
  const message = `"${name}" cannot be the name of a Service, which every gateway has`
  const fix = 'Use at most 63 lower-case letters, digits and -, beginning with a letter.'
  return [refuse(['metadata', 'name'], message, fix)]
}

/** A Service that is open to the outside has no metrics port; the metrics have a second Service with a longer name. */
export const nameableMetrics: ClusterCheck = ({ gateway }) => {
  const { name } = gateway.metadata
  const type = valueBelow(gateway, 'spec', 'service', 'type') ?? 'ClusterIP'
  if (type === 'ClusterIP' || !NAME_RULE.holds(name) || fitsService(names.metrics(name))) return []
  const message = `leaves no room for the Service ${names.metrics(name)}: no Service serves the metrics of its pods`
  const fix = 'Use a name of at most 55 characters, or find the pods by a PodMonitor.'
  return [warn(['metadata', 'name'], message, fix)]
}
