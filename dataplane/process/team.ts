/** The processes of a gateway with `gateway.workers`: the first one, which keeps what all need, and its workers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Registry } from 'prom-client'
import type { Administered, Others } from '../admin/routes.ts'
import { ADMIN, answerAlone } from '../admin/whole/answers.ts'
import type { Loaded } from '../config/apart/loaded.ts'
import type { Activation } from '../gateway/activation.ts'
import { parseJson } from '../json/parse.ts'
import type { Section } from '../schema/index.ts'
import type { CommonStore } from '../store/opened.ts'
import { METRICS, readAll } from '../telemetry/otlp/whole-registry.ts'
import { Crew, type CrewOptions } from '../workers/crew.ts'
import type { Desk } from '../workers/desk.ts'

/** How many processes there are, and what they share. */
export interface Team {
  readonly of: number
  readonly store?: CommonStore
  /** In a worker. */
  readonly desk?: Desk
  close(): Promise<void>
}

export class TeamError extends Error {}

/** Throws TeamError if this system cannot have workers. */
export async function teamOf(
  { gateway, rate_limits }: Pick<Section, 'gateway' | 'rate_limits'>,
  desk: Desk | undefined,
): Promise<Team> {
  if (desk !== undefined) {
    const { of, storeSocket: socket } = desk.seat
    const store = socket === undefined ? {} : { store: { socket, isHere: false } }
    return { of, ...store, desk, close: async () => undefined }
  }
  const of = gateway.workers
  if (of > 1 && process.platform !== 'linux') {
    const why = 'only on Linux several processes can share a port'
    throw new TeamError(`gw.gateway.workers is ${of}, but ${why}; write 1 or remove it`)
  }
  if (of === 1 || rate_limits?.backend === 'redis') return { of, close: async () => undefined }
  // Only this user may enter it.
  const folder = await mkdtemp(join(tmpdir(), 'gw-store-'))
  return {
    of,
    store: { socket: join(folder, 'store.sock'), isHere: true },
    close: () => rm(folder, { recursive: true, force: true }),
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
      if (route === 'PUT /config') put = { what, loaded: activation.loaded }
      const answers = await crew.ask<{ status: number; body: string }>(ADMIN, what)
      // As a reader would get it.
      return answers.map(({ number, body: { status, body } }) => ({
        number,
        body: { status, body: parseJson(body) },
      }))
    },
    list: () => crew.list(),
  }
}

/** Answers the first process, which has the listeners of operators. */
export function answerAt(desk: Desk, administered: Administered, registry: Registry): void {
  desk.on(METRICS, () => readAll(registry))
  desk.on(ADMIN, async (asked: Parameters<typeof answerAlone>[0]) => {
    const { status, body } = await answerAlone(asked, administered)
    return { status, body: JSON.stringify(body) }
  })
}
