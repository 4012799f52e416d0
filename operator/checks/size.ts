/** The size of a configuration, which must fit into a ConfigMap of one mebibyte. */

import { refuse } from '../../dataplane/config/judgement/problems.ts'
import { canonicalJson } from '../../dataplane/delivery/signed.ts'
import type { ClusterCheck } from './contract.ts'

/** Measured as JSON text within JSON; the rest of the mebibyte is for ten thousand keys. */
const DOCUMENT_BYTES_MAX = 320 * 1024

export const documentFits: ClusterCheck = ({ gateway }) => {
  const { api_keys: _, ...rest } = gateway.gw as Readonly<Record<string, unknown>>
  const bytes = Buffer.byteLength(JSON.stringify(canonicalJson(rest)))
  if (bytes <= DOCUMENT_BYTES_MAX) return []
  const message = `the configuration takes ${bytes} bytes; ${DOCUMENT_BYTES_MAX} fit into a ConfigMap with the keys`
  return [refuse(['gw'], message, 'Split it into two gateways, or shorten it.')]
}
