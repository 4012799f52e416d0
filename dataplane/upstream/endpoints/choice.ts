/** Chooses one endpoint of an upstream: by load, or by the key of a conversation. */

/** The facts about an endpoint that a choice depends on. */
export interface Loaded {
  /** A hash of 32 bits that is the same in every gateway. */
  readonly hash: number
  readonly zone?: string | undefined
  /** Whether the KV cache is almost full. */
  isCrammed(now: number): boolean
  /** Requests of this process at the endpoint. */
  readonly inFlight: number
  /** Requests at the endpoint, by this process's count and by its report. */
  load(now: number): number
}

/** An endpoint may have this factor of the mean load before requests of its key go elsewhere. */
const LOAD_BOUND = 1.25

/**
 * The better of two endpoints: the next in turn and a random one. If all gateways chose the least load of the same
 * reports, they would overload one endpoint. With equal load the next in turn wins, so that an idle upstream is used
 * evenly.
 */
export function least<E extends Loaded>(
  endpoints: readonly E[],
  turn: number,
  random: () => number,
  now: number,
): E | undefined {
  const { length } = endpoints
  const next = endpoints[turn % length]
  if (length < 2 || next === undefined) return next
  const other = endpoints[(turn + 1 + Math.floor(random() * (length - 1))) % length] as E
  const better = other.load(now) < next.load(now) ? other : next
  return better.isCrammed(now) ? leastOfRoomy(endpoints, now) : better
}

/** The endpoint with the least load among those with room; undefined only without endpoints. */
function leastOfRoomy<E extends Loaded>(endpoints: readonly E[], now: number): E | undefined {
  const roomy = endpoints.filter((one) => !one.isCrammed(now))
  let best: E | undefined
  for (const one of roomy.length === 0 ? endpoints : roomy)
    if (best === undefined || one.load(now) < best.load(now)) best = one
  return best
}

/**
 * The first endpoint in the order of the key whose load is not far above the mean. Each key has a random but fixed
 * order of endpoints (rendezvous hashing), so if an endpoint disappears, only its keys move. Requests of this process
 * are bounded, too, because reports are late: until the next report, all gateways would fill the same endpoint.
 */
export function affine<E extends Loaded>(
  endpoints: readonly E[],
  key: number,
  now: number,
): E | undefined {
  let total = 0
  let own = 0
  for (const one of endpoints) {
    total += one.load(now)
    own += one.inFlight
  }
  const bound = Math.ceil((LOAD_BOUND * (total + 1)) / endpoints.length)
  // Allows one request more, so that a conversation stays at its endpoint under low load.
  const ownBound = Math.ceil((LOAD_BOUND * (own + 1)) / endpoints.length) + 1
  let best: E | undefined
  let highest = -1
  let spare: E | undefined
  let highestSpare = -1
  for (const one of endpoints) {
    if (one.inFlight >= ownBound) continue
    const score = mixed(key ^ one.hash)
    if (score > highestSpare) {
      highestSpare = score
      spare = one
    }
    if (score <= highest || one.load(now) >= bound) continue
    highest = score
    best = one
  }
  return best ?? spare
}

/** The endpoints of the zone, unless their load is far above the mean of all; a difference of one request does not count. */
export function nearest<E extends Loaded>(
  endpoints: readonly E[],
  zone: string,
  now: number,
): readonly E[] {
  const near = endpoints.filter((one) => one.zone === zone)
  if (near.length === 0 || near.length === endpoints.length) return endpoints
  const bound = LOAD_BOUND * meanLoad(endpoints, now) + 1
  return meanLoad(near, now) <= bound ? near : endpoints
}

function meanLoad(endpoints: readonly Loaded[], now: number): number {
  return endpoints.reduce((sum, one) => sum + one.load(now), 0) / endpoints.length
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** FNV-1a over UTF-16 units, continued from an earlier hash. */
export function hashOf(text: string, from: number = FNV_OFFSET, most = text.length): number {
  let hash = from
  const end = Math.min(text.length, most)
  for (let at = 0; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME)
  return hash
}

/** The last step of MurmurHash3: each bit of the argument changes half of the bits. Not negative. */
export function mixed(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
