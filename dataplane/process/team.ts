/** The processes of a gateway with `gateway.workers`: the first one, which keeps what all need, and its workers. */
import { hash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Registry } from 'prom-client'
import type { Administered, Others } from '../admin/routes.ts'
import { ADMIN, answerAlone } from '../admin/whole/answers.ts'
import type { Loaded } from '../config/apart/loaded.ts'
import { type Activation, type BoundSettings, boundOf, changesOf } from '../gateway/activation.ts'
import { parseJson } from '../json/parse.ts'
import type { Section } from '../schema/index.ts'
import type { CommonStore } from '../store/opened.ts'
import { METRICS, readAll } from '../telemetry/otlp/whole-registry.ts'
import { Crew, type CrewOptions, SilentWorker, type WorkerAnswer } from '../workers/crew.ts'
import type { Desk } from '../workers/desk.ts'
import type { Seat } from '../workers/seat.ts'

/** How many processes there are, and what they share. */
export interface Team {
  readonly of: number
  readonly store?: CommonStore
  /** For the seats of workers. */
  readonly shared: Pick<Seat, 'bound' | 'storeSocket'>
  /** In a worker. */
  readonly desk?: Desk
  close(): Promise<void>
}

/** Bytes of a path of a socket on Linux. */
const SOCKET_PATH_MAX = 107

/** In the URL of a store. */
const PASSWORD = /:\/\/[^"@]*@/

export class TeamError extends Error {}

/** Settings of the first process alone; it passes its port on. */
const OF_FIRST = new Set(
  ['listen_port', 'metrics_port', 'admin_port', 'workers'].map((name) => `gateway.${name}`),
)

/** Throws TeamError if this system cannot have workers, or if this worker does not fit the others. */
export async function teamOf(section: Section, desk: Desk | undefined): Promise<Team> {
  const { gateway, rate_limits } = section
  const bound = digestsOf(boundOf(section))
  if (desk !== undefined) {
    const { seat } = desk
    const changed = changesOf(seat.bound, bound).map((name) => `gw.${name}`)
    if (changed.length > 0) {
      const what = changed.join(' and ')
      throw new TeamError(
        `${what} changed since the gateway started: restart it; until then this worker does not serve`,
      )
    }
    const { of, storeSocket: socket } = seat
    const store = socket === undefined ? {} : { store: { socket, isHere: false } }
    return { of, ...store, shared: seat, desk, close: async () => undefined }
  }
  const of = gateway.workers
  if (of > 1 && process.platform !== 'linux') {
    const why = 'only on Linux several processes can share a port'
    throw new TeamError(`gw.gateway.workers is ${of}, but ${why}; write 1 or remove it`)
  }
  const shared = { bound }
  if (of === 1 || rate_limits?.backend === 'redis')
    return { of, shared, close: async () => undefined }
  const folder = await folderForStore()
  const socket = join(folder, 'store.sock')
  return {
    of,
    store: { socket, isHere: true },
    shared: { ...shared, storeSocket: socket },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Digests, because texts may be long. A new password of the same store is no other store. */
function digestsOf(settings: BoundSettings): BoundSettings {
  const those = Object.entries(settings).filter(([name]) => !OF_FIRST.has(name))
  return Object.fromEntries(
    those.map(([name, text]) => [name, hash('sha256', text.replace(PASSWORD, '://'))]),
  )
}

/** Only this user may enter it. */
async function folderForStore(): Promise<string> {
  const parent = tmpdir()
  const advice = 'set TMPDIR to a folder that this user may write to, with a short path'
  if (Buffer.byteLength(join(parent, 'gw-store-123456', 'store.sock')) > SOCKET_PATH_MAX)
    throw new TeamError(`${parent} is too long for the socket of the common store; ${advice}`)
  try {
    return await mkdtemp(join(parent, 'gw-store-'))
  } catch (error) {
    const why = (error as Error).message
    throw new TeamError(`the socket of the common store has no place: ${why}; ${advice}`)
  }
}

/** Undefined in a worker, and in a gateway of one process. */
export function crewOf({ of, desk }: Team, options: Omit<CrewOptions, 'of'>): Crew | undefined {
  return of > 1 && desk === undefined ? new Crew({ of, ...options }) : undefined
}

/** A worker that starts gets the configuration that was put, while it is in force. */
export function othersIn(crew: Crew, activation: Pick<Activation, 'loaded'>): Others {
  let put: { readonly what: unknown; readonly loaded: Loaded } | undefined
  crew.onReady(async (ask) => {
    if (put?.loaded === activation.loaded) await ask(ADMIN, put.what)
  })
  return {
    async ask(route, request) {
      const what = { route, request }
      if (route !== 'PUT /config') return read(await crew.ask<TextAnswer>(ADMIN, what))
      put = { what, loaded: activation.loaded }
      try {
        return read(await crew.askEach<TextAnswer>(ADMIN, what))
      } catch (error) {
        if (!(error instanceof SilentWorker)) throw error
        const message = `${error.message} It may not have the configuration yet; send it again.`
        return [{ number: error.worker, body: { status: 503, body: { error: { message } } } }]
      }
    },
    list: () => crew.list(),
  }
}

interface TextAnswer {
  readonly status: number
  /** JSON. */
  readonly body: string
}

/** As a reader would get them. */
function read(answers: readonly WorkerAnswer<TextAnswer>[]) {
  return answers.map(({ number, body: { status, body } }) => ({
    number,
    body: { status, body: parseJson(body) },
  }))
}

/** Answers the first process, which has the listeners of operators. */
export function answerAt(desk: Desk, administered: Administered, registry: Registry): void {
  desk.on(METRICS, () => readAll(registry))
  desk.on(ADMIN, async (asked: Parameters<typeof answerAlone>[0]) => {
    const { status, body } = await answerAlone(asked, administered)
    return { status, body: JSON.stringify(body) }
  })
}
