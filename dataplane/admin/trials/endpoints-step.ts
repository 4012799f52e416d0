/** Calls each address of an upstream's name separately. */
import { lookup } from 'node:dns/promises'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { isDeniedAddress } from '../../connection/addresses.ts'
import { transportTo } from '../../connection/client.ts'
import { failureOf } from '../../connection/connection-failures.ts'
import { askStatus } from '../../connection/status-question.ts'
import type { Section } from '../../schema/index.ts'
import type { Step } from './trial.ts'

interface ProbedAddress {
  readonly address: string
  readonly port: number
}

const PROBE_MS_MAX = 5000
const ADDRESSES_MAX = 64

/** `sent`: those that an operator has sent. undefined if the upstream has only its name. */
export async function tryEndpoints(
  settings: UpstreamSettings,
  section: Section,
  sent: readonly ProbedAddress[] = [],
): Promise<Step | undefined> {
  const { endpoints = 'url' } = settings.section
  if (endpoints === 'url') return undefined
  const startedAt = performance.now()
  const { hostname, port: written, protocol } = new URL(settings.origin)
  const name = hostname.replace(/^\[|\]$/g, '')
  const port = Number(written || (protocol === 'https:' ? 443 : 80))
  const step = (asked: string, faults: readonly string[]): Step => ({
    step: 'endpoints',
    asked,
    ok: faults.length === 0,
    ms: Math.round(performance.now() - startedAt),
    ...(faults.length > 0 && { failure: { class: 'connect', message: faults.join('; ') } }),
  })
  const found = endpoints === 'dns' ? await placesOf(name, port) : sent
  if (found instanceof Error) return step(`addresses of ${name}`, [found.message])
  const isPool = endpoints === 'pool'
  const places = found.slice(0, ADDRESSES_MAX)
  const asked = places.map((place) => askOne(place, settings, section))
  const faults = (await Promise.all(asked)).filter((fault) => fault !== undefined)
  const addresses = places.map(({ address }) => address).join(', ')
  const lacking = isPool && found.length === 0 ? ['the operator has sent no endpoint'] : []
  return step(`${found.length} addresses of ${name}: ${addresses}`, [...lacking, ...faults])
}

async function placesOf(name: string, port: number): Promise<ProbedAddress[] | Error> {
  const found = await lookup(name, { all: true }).catch((error: Error) => error)
  return found instanceof Error ? found : found.map(({ address }) => ({ address, port }))
}

/** The fault, in words. */
async function askOne(
  at: ProbedAddress,
  settings: UpstreamSettings,
  section: Section,
): Promise<string | undefined> {
  const { address } = at
  if (isDeniedAddress(address)) return `${address} is a metadata address, which is never dialled`
  const transport = transportTo({ ...settings, at }, section)
  try {
    const isWell = (await askStatus(transport, settings.healthPath ?? '/', PROBE_MS_MAX)) === 200
    // A hosted API has no path for probes: any answer shows that it is reachable.
    if (isWell || settings.healthPath === undefined) return undefined
    return `${address} did not answer with 200`
  } catch (error) {
    return `${address}: ${failureOf(error as Error).message}`
  }
}
