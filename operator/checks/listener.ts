/** Addresses and ports at which no client could reach the pod. */

import { refuse, warn } from '../../dataplane/config/judgement/problems.ts'
import { clientAuthOf } from '../../dataplane/config/listener-certificate.ts'
import { PUSH_PORT } from '../../dataplane/delivery/signed.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { POD_ADMIN_PORT } from '../../dataplane/schema/constants.ts'
import type { ClusterCheck } from './contract.ts'

const LOOPBACK = /^(127\.|::1$|localhost$)/

/** Both are created, but the route sends plain HTTP to a TLS port. */
export const routeSpeaksTls: ClusterCheck = ({ gateway, gw }) => {
  const { tls } = gw.gateway
  if (tls === undefined || valueBelow(gateway, 'spec', 'route') === undefined) return []
  const isMutual = clientAuthOf(tls) === 'require'
  const message = isMutual
    ? 'requires client certificates, which few Gateways of spec.route can present'
    : 'needs a BackendTLSPolicy with spec.route: without it the Gateway sends plain HTTP to this port'
  const fix = isMutual
    ? 'Write client_auth: request, or remove spec.route.'
    : 'Create one for the Service of the gateway, with validation.hostname and caCertificateRefs.'
  return [warn(['gw', 'gateway', 'tls'], message, fix)]
}

/** Tags of releases that ignore the setting and serve plain HTTP. */
const WITHOUT_TLS = /:v?(0\.\d+|1\.[0-4])\.\d+(-[^@]*)?(@|$)/

/** A digest without a tag does not tell the release; old pods then report the setting as ignored. */
export const imageKnowsTls: ClusterCheck = ({ gateway, gw }) => {
  const image = valueBelow(gateway, 'spec', 'image')
  if (gw.gateway.tls === undefined || typeof image !== 'string' || !WITHOUT_TLS.test(image))
    return []
  const message = `names ${image}, a release that ignores gw.gateway.tls and serves plain HTTP`
  return [refuse(['spec', 'image'], message, 'Name a newer release, or remove gw.gateway.tls.')]
}

export const reachableListener: ClusterCheck = ({ gw }) => {
  const { listen_address, admin_port = POD_ADMIN_PORT } = gw.gateway
  const portOf = { ...gw.gateway, admin_port }
  const ports = ['listen_port', 'metrics_port', 'admin_port'] as const
  return [
    ...(listen_address !== undefined && LOOPBACK.test(listen_address)
      ? [
          refuse(
            ['gw', 'gateway', 'listen_address'],
            `${listen_address} can be reached only from inside the pod`,
            'Remove it; the default is every address of the pod.',
          ),
        ]
      : []),
    ...(['listen_port', 'metrics_port'] as const)
      .filter((port) => gw.gateway.admin_port === undefined && portOf[port] === POD_ADMIN_PORT)
      .map((port) =>
        refuse(
          ['gw', 'gateway', port],
          `${POD_ADMIN_PORT} is the port of the admin API in a pod`,
          'Choose another port, or set admin_port.',
        ),
      ),
    ...ports
      .filter((port) => portOf[port] === PUSH_PORT)
      .map((port) =>
        refuse(
          ['gw', 'gateway', port],
          `${PUSH_PORT} is the port at which the pod receives its configuration`,
          'Choose another port.',
        ),
      ),
    ...ports
      .filter((port) => portOf[port] < 1024)
      .map((port) =>
        refuse(
          ['gw', 'gateway', port],
          'ports below 1024 need privileges, which the pod does not have',
          'Choose a port above 1023; clients use spec.service.port.',
        ),
      ),
  ]
}
