/** Resources with valid defaults, as the API server gives them. */
import { hashOf } from '../../../dataplane/delivery/signed.ts'
import type { KubeObject } from '../../../operator/kube/objects.ts'

type Fields = Readonly<Record<string, unknown>>

export function aGateway({
  gw = {},
  spec = {},
  metadata = {},
}: {
  readonly gw?: Fields
  readonly spec?: Fields
  readonly metadata?: Fields
} = {}): KubeObject {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: 'production', namespace: 'ai', uid: 'uid-1', generation: 3, ...metadata },
    spec,
    gw: {
      upstreams: [
        { name: 'local', provider: 'vllm', endpoint: 'http://10.1.2.3:8000', model: 'm' },
      ],
      routes: [{ name: 'chat', strategy: 'single', upstreams: ['local'] }],
      ...gw,
    },
  }
}

export function aGatewayKey(name: string, spec: Fields = {}, metadata: Fields = {}): KubeObject {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayKey',
    metadata: {
      name,
      namespace: 'ai',
      uid: `uid-${name}`,
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { gateway: 'production', tenant: 'acme', hash: aHash(name), routes: ['*'], ...spec },
  }
}

export function aHash(text: string): string {
  return `sha256:${hashOf(text)}`
}
