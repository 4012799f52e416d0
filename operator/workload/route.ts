/** The HTTPRoute of a gateway: only the gateway bounds the time of a request and repeats one. */
import type { WorkloadSpec } from '../../crds/workload.ts'
import { metadataOf } from '../kube/names.ts'
import type { KubeObject } from '../kube/objects.ts'
import { servicePortOf } from './network.ts'
import type { WorkloadSettings } from './settings.ts'

const GROUP = 'gateway.networking.k8s.io'
export const HTTP_ROUTE = { apiVersion: `${GROUP}/v1`, kind: 'HTTPRoute' } as const

export function httpRouteOf(settings: WorkloadSettings): KubeObject | undefined {
  const { gateway, spec } = settings
  const { route } = spec
  if (route === undefined) return undefined
  const { name } = gateway.metadata
  return {
    ...HTTP_ROUTE,
    metadata: { ...metadataOf(gateway, name), annotations: route.annotations },
    spec: routeTo({ name, port: servicePortOf(settings) }, route),
  }
}

/** From some Gateways to a Service. As the API server writes it, so that it equals the stored one. */
export function routeTo(
  service: { readonly name: string; readonly port: number },
  { parentRefs, hostnames }: Pick<NonNullable<WorkloadSpec['route']>, 'parentRefs' | 'hostnames'>,
) {
  return {
    parentRefs: parentRefs.map(({ group = GROUP, kind = 'Gateway', ...parent }) => ({
      group,
      kind,
      ...parent,
    })),
    ...(hostnames.length === 0 ? {} : { hostnames }),
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: '/v1' } }],
        backendRefs: [{ group: '', kind: 'Service', ...service, weight: 1 }],
        timeouts: { request: '0s', backendRequest: '0s' },
      },
    ],
  }
}
