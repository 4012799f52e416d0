/** Manifests in a line each, and their names in kubectl's form. */
import { valueBelow } from '../../dataplane/json/values.ts'
import type { Manifest } from './manifests.ts'

export function rowOf({ kind, metadata }: Manifest): readonly unknown[] {
  return [kind, valueBelow(metadata, 'namespace'), valueBelow(metadata, 'name')]
}

/** `httproute.gateway.networking.k8s.io/production`. */
export function nameOf({ apiVersion, kind, metadata }: Manifest): string {
  const group = apiVersion.includes('/') ? `.${apiVersion.split('/')[0]}` : ''
  return `${kind.toLowerCase()}${group}/${valueBelow(metadata, 'name')}`
}
