/** The address of a gateway, from its file. */
import { WorkloadSpec } from '../../crds/workload.ts'
import { parseDocument } from '../../dataplane/config/document/document.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { Written } from '../apply/document.ts'
import { printRemark } from '../printing/output.ts'

export interface Reached {
  readonly name?: string
  readonly namespace?: string
  readonly port?: number
  readonly hostnames: readonly string[]
  /** The Gateway in `spec.route`; the operator creates its HTTPRoute. */
  readonly parent?: { readonly name: string; readonly namespace?: string }
}

/** If the file has no gateway, prints this and returns undefined. */
export function reachedBy({ name: file, text }: Written): Reached | undefined {
  const { document } = parseDocument(text, file)
  const tree = document?.tree
  const spec = WorkloadSpec.safeParse(valueBelow(tree, 'spec') ?? {})
  if (document === undefined || !spec.success) {
    printRemark(`refused: ${file}: run gw config validate for the mistakes`)
    return undefined
  }
  const { service, route } = spec.data
  const [parent] = route?.parentRefs ?? []
  const plain = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const name = plain(valueBelow(tree, 'metadata', 'name'))
  const namespace = plain(valueBelow(tree, 'metadata', 'namespace'))
  return {
    ...(name && { name }),
    ...(namespace && { namespace }),
    port: service.port ?? (valueBelow(tree, 'gw', 'gateway', 'tls') === undefined ? 80 : 443),
    hostnames: route?.hostnames ?? [],
    ...(parent && {
      parent: { name: parent.name, ...(parent.namespace && { namespace: parent.namespace }) },
    }),
  }
}
