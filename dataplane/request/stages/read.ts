/** Reads the body of a request, finds its route, and parses the request. */
import type { Rules } from '../../accounts/store.ts'
import { giveBack } from '../../base/spent-bytes.ts'
import type { HeldBody } from '../../body/bodies.ts'
import { naming, type Scanned, scanBody, scanForm, understand } from '../../body/request.ts'
import type { Call, Caller } from '../../call/call.ts'
import type { Route, Snapshot } from '../../config/snapshot.ts'
import { chargeRefused, type Limiter } from '../../limits/decision.ts'
import type { Section } from '../../schema/index.ts'
import type { Dialect } from '../../wire/dialect.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Notes } from '../notes.ts'
import { match, matchAhead } from './match.ts'
import { isLong, type Receiver, receive } from './receive.ts'

/** A request whose body is still to come, from a caller that may send one. */
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

/** Throws what `receive`, `match` and the reader of the API throw. */
export async function read(
  announced: Announced,
  held: HeldBody,
  snapshot: Snapshot,
  gateway: Reader,
  notes: Notes,
): Promise<RoutedRequest> {
  const { call, caller, dialect, rules } = announced
  let bytes: Buffer | undefined
  try {
    bytes = await bodyOf(announced, held, snapshot, gateway, notes)
    const { pathModel } = call.incoming
    if (pathModel !== undefined) bytes = await naming(bytes, pathModel)
    const scanned = await scan(bytes, announced)
    const route = match(scanned.model, caller, snapshot)
    notes.matched(scanned, route, caller)
    const createdSeconds = Math.floor(gateway.clock.wall() / 1000)
    const request = await understand(scanned, dialect.reading, createdSeconds)
    notes.session(dialect)
    if (dialect.forwards !== undefined) request.forwarded = named(dialect.forwards, call)
    return { request, route }
  } catch (error) {
    if (held.isLarge) {
      // Nothing else holds the bytes, because the request was refused before it was sent.
      if (bytes !== undefined) giveBack(bytes)
      await chargeRefused({ tenant: caller.tenant, id: call.id }, rules, gateway)
    }
    throw error
  }
}

async function bodyOf(
  { call, caller, dialect, rules, settings }: Announced,
  held: HeldBody,
  snapshot: Snapshot,
  gateway: Reader,
  notes: Notes,
): Promise<Buffer> {
  const type = dialect.form && call.incoming.header('content-type')
  const judge = matchAhead(type, caller, snapshot)
  const look = (beginning: Buffer) => {
    held.wasLonger = isLong(call.incoming)
    judge(beginning)
    held.wasLonger = false
  }
  const received = receive(call, held, { settings, rules, look }, gateway)
  // Most bodies come with their head.
  if (!(received instanceof Promise)) return received
  const began = gateway.clock.now()
  const bytes = await received
  notes.arrived(gateway.clock.now() - began)
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
