/** The upstreams whose endpoints are the pods of a Service, as the configuration names it. */
import { isIP } from 'node:net'
import { isRecord, listBelow, textOf, valueBelow } from '../../dataplane/json/values.ts'

export interface ServiceUpstream {
  readonly upstream: string
  /** As written in the URL; the port is that of the Service. */
  readonly host: string
  readonly port: number
  /** Whether its servers may be scaled to zero, so that requests wait for one. */
  readonly mayBeEmpty?: true
}

export interface ServicePlace {
  readonly namespace: string
  readonly name: string
}

export function serviceUpstreamsOf(gw: unknown): ServiceUpstream[] {
  return listBelow(gw, 'upstreams').flatMap((one) => {
    const upstream = textOf(valueBelow(one, 'name'))
    const url = URL.parse(textOf(valueBelow(one, 'endpoint')) ?? '')
    if (valueBelow(one, 'endpoints') !== 'pods' || upstream === undefined || url === null) return []
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
    return [{ upstream, host: url.hostname, port, ...mayBeEmpty(one) }]
  })
}

/** If requests wait for a starting server, having no server is normal. */
export function mayBeEmpty(upstream: unknown): { readonly mayBeEmpty?: true } {
  return isRecord(valueBelow(upstream, 'cold_start')) ? { mayBeEmpty: true } : {}
}

/** `own`: the namespace of the gateway, for a name of one part. */
export function serviceAt(host: string, own: string): ServicePlace | undefined {
  const [name = '', namespace = own, svc = 'svc'] = host.replace(/\.$/, '').split('.')
  if (isIP(host) !== 0 || svc !== 'svc' || name === '') return undefined
  return { namespace, name }
}
