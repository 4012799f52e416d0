/** The state of a stand-alone gateway: configuration, store, upstreams, objectives. */
import { z } from 'zod'
import { askAdmin } from '../asking/connection.ts'
import type { StandAlone } from '../asking/place.ts'
import { fullTime, spanText } from '../printing/ages.ts'
import {
  ClassifierStatus,
  GuardrailStatus,
  printClassifiers,
  printGuardrails,
  printVectorStores,
  VectorStoreStatus,
} from '../printing/auxiliaries.ts'
import { paint, state as stateCell } from '../printing/colours.ts'
import { printLine } from '../printing/output.ts'
import { printFacts, printTable } from '../printing/tables/table.ts'
import { TOKENS, tokensLines } from '../printing/tables/tokens-text.ts'
import {
  BREAKER,
  breakerLines,
  ENDPOINTS,
  endpointLines,
  SHARES,
  sharesLines,
} from '../printing/tables/upstreams-text.ts'
import type { Seen } from './seen.ts'
import { printUpstreams } from './upstreams-table.ts'
import { printVerification, VerificationStatus } from './verified.ts'

const Upstream = z.looseObject({
  name: z.string(),
  provider: z.string(),
  eligible: z.boolean(),
  health: z.string(),
  why: z.string().optional(),
  ...BREAKER,
  in_flight: z.number(),
  ...TOKENS,
  ...ENDPOINTS,
  ...SHARES,
})

const Reload = z.looseObject({
  result: z.string(),
  at: z.string(),
  errors: z.array(z.string()).default([]),
})

const Issuer = z.looseObject({
  name: z.string(),
  issuer: z.string(),
  keys: z.number(),
  age_seconds: z.number().optional(),
  reason: z.string().optional(),
})

export const StandAloneStatus = z.looseObject({
  version: z.string(),
  state: z.string(),
  config: z.looseObject({
    file: z.string(),
    hash: z.string(),
    routes: z.number(),
    keys: z.number(),
    last_reload: Reload,
  }),
  requests_in_flight: z.number(),
  streams_open: z.number(),
  store: z.unknown(),
  upstreams: z.array(Upstream).default([]),
  guardrails: z.array(GuardrailStatus).default([]),
  vector_stores: z.array(VectorStoreStatus).default([]),
  classifiers: z.array(ClassifierStatus).default([]),
  objectives: z.array(z.looseObject({})).default([]),
  verification: VerificationStatus.optional(),
  issuers: z.array(Issuer).default([]),
  workers: z.array(z.looseObject({ state: z.string() })).default([]),
})

type Status = z.output<typeof StandAloneStatus>

/** A shared store without which the gateway refuses every request. */
const MissingStore = z.looseObject({ state: z.literal('away'), fail_open: z.literal(false) })

export async function standAloneStatus({ admin }: StandAlone): Promise<Seen> {
  const { status, body } = await askAdmin(admin, '/status')
  if (status !== 200) throw new Error(`The gateway at ${admin} answered with ${status}.`)
  const seen = StandAloneStatus.parse(body)
  const { state, config, upstreams, store, guardrails, classifiers, objectives } = seen
  return {
    ready: state === 'serving' && config.last_reload.result === 'success' && !lacksStore(store),
    value: body,
    essence: {
      state,
      config,
      store,
      upstreams: upstreams.map(({ name, eligible, health, breaker }) => [
        name,
        eligible,
        health,
        breaker,
      ]),
      guardrails: guardrails.map(({ name, breaker }) => [name, breaker]),
      vector_stores: seen.vector_stores.map(({ name, breaker }) => [name, breaker]),
      classifiers: classifiers.map(({ route, ready }) => [route, ready]),
      objectives: objectives.map(({ breached }) => breached),
      verification: seen.verification?.routes.map(({ route, state }) => [route, state]),
    },
    names: [admin],
    print: (isWide) => print(admin, seen, isWide),
  }
}

function lacksStore(store: unknown): boolean {
  return MissingStore.safeParse(store).success
}

/** `1 key`, `2 keys`. */
function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function print(admin: string, seen: Status, isWide: boolean): void {
  const { version, config, store, upstreams, objectives } = seen
  const { last_reload: reload } = config
  printFacts([
    ['gateway', `${admin}, version ${version}`],
    ['state', stateShown(seen)],
    ['configuration', `${config.hash.slice(0, 12)} from ${config.file}`],
    [
      'last reload',
      { ...stateCell(reload.result), text: `${reload.result}, ${fullTime(reload.at)}` },
    ],
    ['serves', `${counted(config.routes, 'route')}, ${counted(config.keys, 'key')}`],
    [
      'in flight',
      `${counted(seen.requests_in_flight, 'request')}, ${counted(seen.streams_open, 'stream')}`,
    ],
    ['store', sentenceOf(store)],
    ...(seen.workers.length > 0 ? [['processes', processesOf(seen)] as const] : []),
  ])
  for (const error of reload.errors) printLine(paint(error, 'red', process.stdout))
  printLine('')
  printUpstreams(upstreams, isWide)
  for (const line of [...endpointLines(upstreams), ...sharesLines(upstreams)]) printLine(line)
  for (const line of [...breakerLines(upstreams), ...tokensLines(upstreams)]) printLine(line)
  printVerification(seen.verification, isWide)
  printIssuers(seen)
  printGuardrails(seen.guardrails)
  printVectorStores(seen.vector_stores)
  printClassifiers(seen.classifiers)
  const [first] = objectives
  if (first === undefined) return
  printLine('')
  const columns = Object.keys(first)
  printTable(
    columns.map((name) => name.replaceAll('_', ' ').toUpperCase()),
    objectives.map((one) => columns.map((name) => one[name])),
  )
}

/** The first process is the one that answers. */
function processesOf({ workers }: Status): string {
  const serving = workers.filter(({ state }) => state === 'serving').length
  return `${1 + serving} of ${1 + workers.length} serve`
}

function stateShown({ state, store }: Status) {
  if (!lacksStore(store)) return stateCell(state)
  const text = 'not ready: the shared store is away, fail_open is false, so requests get 503'
  return { text, colour: 'red' } as const
}

function printIssuers({ issuers }: Status): void {
  if (issuers.length === 0) return
  printLine('')
  printTable(
    ['ISSUER', 'TOKENS OF', 'KEYS', 'AGE', 'REASON'],
    issuers.map(({ name, issuer, keys, age_seconds: age, reason }) => [
      name,
      issuer,
      keys,
      age === undefined ? undefined : `${spanText(age * 1000)} ago`,
      reason ?? '-',
    ]),
  )
}

/** `backend memory, durable false`: each store reports members that only it has. */
function sentenceOf(store: unknown): string {
  if (typeof store !== 'object' || store === null) return String(store ?? '-')
  const entries = Object.entries(store).filter(([, value]) => value !== null && value !== undefined)
  return entries
    .map(
      ([name, value]) =>
        `${name.replaceAll('_', ' ')} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
    )
    .join(', ')
}
