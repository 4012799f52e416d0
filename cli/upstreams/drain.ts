/** Takes an upstream out for a time, in a file or in a cluster; it comes back by itself. */

import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { type ClusterAccess, findGateway, withCluster } from '../asking/cluster-access.ts'
import type { Place } from '../asking/place.ts'
import { AnswerIsNo } from '../printing/output.ts'
import { EditableYaml, textOf } from '../yaml/editable.ts'

/** A separate field manager: the field stays when the author applies the configuration again. */
const MANAGER = 'gw-drain'

const WHERE =
  'A running gateway reads its upstreams from its file: give the file with --file, or a cluster with -n and --gateway.'

/** `until`: RFC 3339. Throws a sentence if there is no such upstream. */
export async function drainUntil(
  name: string,
  until: string,
  file: string | undefined,
  place: Place | undefined,
): Promise<void> {
  if (file !== undefined) {
    const document = new EditableYaml(file, textOf(file))
    const index = indexOf(name, document.tree, file)
    document.set(['gw', 'upstreams', index], { drained_until: until })
    document.save()
    return
  }
  if (place === undefined || place.kind === 'stand-alone') throw new Error(WHERE)
  await withCluster(place, async (access) => {
    const gateway = await findGateway(access)
    indexOf(name, gateway, `GatewayConfig "${gateway.metadata.name}"`)
    await setInCluster(access, gateway.metadata, { name, drained_until: until })
  })
}

/** Throws a sentence if there is no such upstream. */
function indexOf(name: string, document: unknown, where: string): number {
  const names = listBelow(document, 'gw', 'upstreams').map((one) => valueBelow(one, 'name'))
  const index = names.indexOf(name)
  if (index !== -1) return index
  throw new AnswerIsNo(`There is no upstream "${name}" in ${where}; it has ${names.join(', ')}.`)
}

async function setInCluster(
  { api }: ClusterAccess,
  { name, namespace = '' }: { readonly name: string; readonly namespace?: string | undefined },
  upstream: object,
): Promise<void> {
  const object = { metadata: { name, namespace }, gw: { upstreams: [upstream] } }
  await api.apply(RESOURCES.gatewayConfigs, object, { manager: MANAGER })
}
