/** Keeps running pods: they roll for missing parts, never to remove unneeded ones. */
import { valueBelow } from '../../dataplane/json/values.ts'
import { TEMPLATE_ANNOTATION } from '../kube/names.ts'
import type { KubeObject } from '../kube/objects.ts'
import { deploymentOf, MADE_WITH, templateHash } from './deployment.ts'
import { RUNS_WITH_ANNOTATION, runsWith } from './runs-with.ts'
import type { WorkloadSettings } from './settings.ts'

/** The desired Deployment: with the settings of the existing pods, if those suffice and the pods do not roll anyway. */
export function desiredDeployment(
  settings: WorkloadSettings,
  live: KubeObject | undefined,
): KubeObject {
  const fresh = deploymentOf(settings)
  const kept = live === undefined ? undefined : asMade(settings, live)
  if (live === undefined || kept === undefined) return marked(fresh, settings)
  const asItIs = deploymentOf(kept)
  return marked(templateHash(asItIs) === templateHashOf(live) ? asItIs : fresh, settings)
}

/** The settings from which the pods of a Deployment were rendered, without the API server's defaults. */
export function templateHashOf(deployment: KubeObject): string | undefined {
  return deployment.metadata.annotations?.[TEMPLATE_ANNOTATION]
}

function marked(deployment: KubeObject, { gateway }: WorkloadSettings): KubeObject {
  const annotations = {
    [TEMPLATE_ANNOTATION]: templateHash(deployment),
    [RUNS_WITH_ANNOTATION]: runsWith(gateway),
  }
  return { ...deployment, metadata: { ...deployment.metadata, annotations } }
}

function asMade(settings: WorkloadSettings, live: KubeObject): WorkloadSettings | undefined {
  const annotation = (name: string) => {
    const value = valueBelow(live, 'spec', 'template', 'metadata', 'annotations', name)
    return typeof value === 'string' ? value : undefined
  }
  const secrets = annotation(MADE_WITH.secrets)
  const variables = annotation(MADE_WITH.variables)
  const drain = annotation(MADE_WITH.drain)
  if (secrets === undefined || variables === undefined || drain === undefined) return undefined
  const { needs, spec } = settings
  const has = {
    secrets: secrets.split(',').filter((name) => name !== ''),
    variables: variables.split(',').filter((name) => name !== ''),
  }
  const suffices =
    needs.secrets.every((name) => has.secrets.includes(name)) &&
    needs.variables.every((name) => has.variables.includes(name))
  if (!suffices) return undefined
  // A Secret that is still mounted, although nothing names it, must not be readable in another environment.
  const before = live.metadata.annotations?.[RUNS_WITH_ANNOTATION]
  const isElsewhere = before !== undefined && before !== runsWith(settings.gateway)
  if (isElsewhere && has.secrets.length > needs.secrets.length) return undefined
  // The user's own number applies at once; one that follows a timeout of the configuration waits for the next roll.
  const drainSeconds = spec.drainTimeoutSeconds ?? Number(drain)
  return { ...settings, drainSeconds, needs: { ...needs, ...has } }
}
