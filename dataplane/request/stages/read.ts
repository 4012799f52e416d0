/** Reads the body of a request, finds its route, and parses the request. */
import type { Rules } from '../../accounts/store.ts'
import { giveBack } from '../../base/spent-bytes.ts'
import type { HeldBody } from '../../body/bodies.ts'
import { tooLarge } from '../../body/reader.ts'
import { naming, type Scanned, scanBody, scanForm, understand } from '../../body/request.ts'
import type { Call, Caller } from '../../call/call.ts'
import type { Route, Snapshot } from '../../config/snapshot.ts'
import { chargeRefused, type Limiter } from '../../limits/decision.ts'
import { noRoom } from '../../limits/refusal.ts'
import type { Section } from '../../schema/index.ts'
import type { Dialect } from '../../wire/dialect.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Notes } from '../notes.ts'
import { match, matchAhead } from './match.ts'
import { isLong, type Receiver, receive } from './receive.ts'

/** A request whose body is still arriving, from a caller that may send one. */
export interface Announced {
  readonly call: Call
  readonly caller: Caller
  readonly dialect: Dialect
  readonly rules: Rules
  /** The settings of the process, with the bound of forms if the body is a form. */
  readonly settings: Section['gateway']
}

export interface RoutedRequest {
  readonly request: ModelRequest
  readonly route: Route
}

type Reader = Receiver & Pick<Limiter, 'clock' | 'refusals' | 'store'>

/** Throws the errors of `receive`, `match` and the reader of the API. */
export async function read(
  announced: Announced,
  held: HeldBody,
  snapshot: Snapshot,
  gateway: Reader,
  notes: Notes,
): Promise<RoutedRequest> {
  const { call, caller, dialect, rules, settings } = announced
  let bytes: Buffer | undefined
  try {
    // Most bodies arrive with their head, and need no waiting.
    const received = bodyOf(announced, held, snapshot, gateway)
    bytes = received instanceof Promise ? await arrival(received, gateway, notes) : received
    if (call.incoming.bodyOf !== undefined) bytes = await made(call.incoming, bytes, held, settings)
    const { pathModel } = call.incoming
    if (pathModel !== undefined) bytes = await naming(bytes, pathModel)
    const scanning = scan(bytes, announced)
    const scanned = scanning instanceof Promise ? await scanning : scanning
    const wallMs = gateway.clock.wall()
    const route = match(scanned.model, caller, snapshot, wallMs)
    notes.matched(scanned, route, caller)
    const createdSeconds = Math.floor(wallMs / 1000)
    const understood = understand(scanned, dialect.reading, createdSeconds)
    const request = understood instanceof Promise ? await understood : understood
    notes.session(dialect)
    if (dialect.forwards !== undefined) request.forwarded = named(dialect.forwards, call)
    return { request, route }
  } catch (error) {
    if (held.isLarge) {
      // No other code holds the bytes, because the request was refused before it was sent.
      if (bytes !== undefined) giveBack(bytes)
      await chargeRefused({ tenant: caller.tenant, id: call.id }, rules, gateway)
    }
    throw error
  }
}

/** The body may be longer than the received part, and has the same bounds. */
async function made(
  incoming: Call['incoming'],
  arrived: Buffer,
  held: HeldBody,
  { max_request_bytes: bytesMax }: Section['gateway'],
): Promise<Buffer> {
  const bytes = (await incoming.bodyOf?.(arrived)) ?? arrived
  if (bytes.length > bytesMax) throw tooLarge(bytesMax)
  // Both may be in memory until the answer has ended.
  const obstacle = held.grow(bytes.length, bytesMax)
  if (obstacle !== undefined) throw noRoom(obstacle)
  return bytes
}

function bodyOf(
  { call, caller, dialect, rules, settings }: Announced,
  held: HeldBody,
  snapshot: Snapshot,
  gateway: Reader,
): Buffer | Promise<Buffer> {
  const look = (beginning: Buffer) => {
    const type = dialect.form && call.incoming.header('content-type')
    held.wasLonger = isLong(call.incoming)
    matchAhead(beginning, type, caller, snapshot, gateway.clock.wall())
    held.wasLonger = false
  }
  return receive(call, held, { settings, rules, look }, gateway)
}

/** Records how long the rest of the body takes to arrive. */
async function arrival(body: Promise<Buffer>, { clock }: Reader, notes: Notes): Promise<Buffer> {
  const began = clock.now()
  const bytes = await body
  notes.arrived(clock.now() - began)
  return bytes
}

function scan(bytes: Buffer, { dialect, call }: Announced): Scanned | Promise<Scanned> {
  if (dialect.form === undefined) return scanBody(bytes)
  return scanForm(bytes, call.incoming.header('content-type') ?? '')
}

/** The headers with these names that the client sent. */
function named(names: readonly string[], { incoming }: Call): Record<string, string> {
  const found = names.map((name) => [name, incoming.header(name)] as const)
  return Object.fromEntries(found.filter((one): one is [string, string] => one[1] !== undefined))
}
