/** The rooms of the house: each folder, or file of a top folder, imports only rooms below its own. Type imports count. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { circlesOf } from './circles.ts'
import { importsOf, product } from './sources.ts'

/** From top to bottom. */
const ROOMS: Readonly<Record<string, string>> = {
  charts: 'generate.ts kustomize.ts dashboard.ts values.ts',
  cli: `generate.ts main.ts quickstart shapes program.ts container.ts commands
    simulator console top why traces usage logs status expose trials traffic doctor init upstreams keys moving apply pricing yaml option-values.ts
    until-signal.ts asking printing`,
  operator: `main.ts run.ts program.ts served-types.ts health.ts controllers.ts feed.ts queues.ts
    reconcilers status workload discovery.ts endpoints delivery tracing admission
    telemetry.ts tally.ts rbac.ts world.ts compile keys checks kube log.ts`,
  crds: `generate.ts release spec-problems.ts tenant-policy-definition.ts definition.ts
    gateway-config.ts workload.ts exposure.ts volumes.ts tenant-policy.ts gateway-key.ts
    kubernetes.ts gateway-section.ts structural.ts conditions.ts fields.ts`,
  dataplane: `generate.ts main.ts pod process workers listener console admin verification apis request gateway
    rollout semantic retrieval limits vector-stores identity usage store guardrails auxiliaries
    upstream body telemetry tokens connection http1 websocket translation delivery config call strategies
    accounts schema providers wire base json why`,
}

/** The rooms of other top folders that a top folder may use. */
const BETWEEN: Readonly<Record<string, readonly string[]>> = {
  charts: ['operator/rbac.ts', 'dataplane/json'],
  cli: [
    'operator/compile',
    'operator/keys',
    'operator/kube',
    'operator/workload',
    'crds',
    'dataplane/main.ts',
    'dataplane/console',
    'dataplane/admin',
    'dataplane/telemetry',
    'dataplane/config',
    'dataplane/schema',
    'dataplane/providers',
    'dataplane/wire',
    'dataplane/base',
    'dataplane/json',
    'dataplane/why',
  ],
  operator: [
    'crds',
    'dataplane/telemetry',
    'dataplane/delivery',
    'dataplane/config',
    'dataplane/accounts',
    'dataplane/schema',
    'dataplane/base',
    'dataplane/json',
  ],
  crds: ['dataplane/config', 'dataplane/schema', 'dataplane/providers', 'dataplane/json'],
  dataplane: [],
}

interface Import {
  readonly from: string
  readonly to: string
}

/** `dataplane/limits` of `dataplane/limits/alerts/webhook.ts`. */
function roomOf(path: string): string {
  return path.split('/').slice(0, 2).join('/')
}

const floors: ReadonlyMap<string, number> = new Map(
  Object.entries(ROOMS).flatMap(([top, rooms]) =>
    rooms.split(/\s+/).map((room, floor) => [`${top}/${room}`, floor] as const),
  ),
)

/** The complaint about an import that does not point down; undefined if it does. */
function complaintOf({ from, to }: Import): string | undefined {
  const [here, there] = [roomOf(from), roomOf(to)]
  if (here === there || !floors.has(there)) return undefined
  const [top, other] = [here, there].map((room) => room.split('/')[0] ?? '') as [string, string]
  if (top !== other) {
    const isOpen = BETWEEN[top]?.some((open) => open === other || open === there) ?? false
    return isOpen ? undefined : `${from} imports ${to}: ${top}/ may not use ${there}`
  }
  if ((floors.get(here) ?? -1) < (floors.get(there) ?? 0)) return undefined
  return `${from} imports ${to}: ${here} stands below ${there}; declare what it needs, or move it`
}

const imports: Import[] = product.flatMap(({ path, text }) =>
  importsOf(path, text).map((to) => ({ from: path, to })),
)

test('every folder and file of a top folder is in the list of rooms, and the list has no other', (t) => {
  const tops = Object.keys(ROOMS)
  const here = product
    .map(({ path }) => path)
    .filter((path) => tops.includes(path.split('/')[0] ?? ''))
  const rooms = new Set(here.map(roomOf))
  assert.deepEqual([...rooms].toSorted(), [...floors.keys()].toSorted())
  for (const [top, list] of Object.entries(ROOMS))
    t.diagnostic(`${top}: ${list.split(/\s+/).join(' > ')}`)
})

test('imports point down, type imports counted', () => {
  assert.deepEqual(
    imports.flatMap((one) => complaintOf(one) ?? []),
    [],
  )
})

test('rooms make no circle', () => {
  const graph = new Map<string, string[]>()
  for (const { from, to } of imports) {
    const [here, there] = [roomOf(from), roomOf(to)]
    graph.set(here, [...(graph.get(here) ?? []), ...(here === there ? [] : [there])])
  }
  assert.deepEqual(circlesOf(graph), [])
})

test('an import that points up is found in every top folder', () => {
  const planted: readonly Import[] = [
    { from: 'dataplane/limits/gauges.ts', to: 'dataplane/gateway/gateway.ts' },
    { from: 'operator/status/facts.ts', to: 'operator/reconcilers/workload.ts' },
    { from: 'cli/printing/output.ts', to: 'cli/keys/view.ts' },
    { from: 'dataplane/wire/inner-form.ts', to: 'operator/kube/api.ts' },
  ]
  for (const one of planted) assert.match(complaintOf(one) ?? '', /^\S+ imports \S+: \S+/)
  const text = ['import type { Gateway } from', "'../gateway/gateway.ts'"].join(' ')
  assert.deepEqual(importsOf('dataplane/limits/gauges.ts', text), ['dataplane/gateway/gateway.ts'])
})
