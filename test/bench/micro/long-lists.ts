/** A list of 1,000 endpoints, over four upstreams, and the choice of one of 250 of them. A million ns is a millisecond. */
import { setImmediate } from 'node:timers/promises'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
import { compile } from '../../../dataplane/config/snapshot.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { Endpoints } from '../../../dataplane/upstream/endpoints/endpoints.ts'
import { Lookups } from '../../../dataplane/upstream/endpoints/names.ts'
import { Reports } from '../../../dataplane/upstream/endpoints/reports.ts'
import { compare } from './runner.ts'

const NAMES = ['a', 'b', 'c', 'd']
const OF_ONE = 1000 / NAMES.length

function opened(): Endpoints[] {
  const upstreams = NAMES.map((name) => ({
    ...{ name, provider: 'vllm', model: 'm', endpoint: `http://${name}:8000`, endpoints: 'pods' },
  }))
  const routes = NAMES.map((name) => ({ name, strategy: 'single', primary: name }))
  const document = {
    ...{ apiVersion: 'inference.gw/v1', kind: 'GatewayConfig' },
    gw: { upstreams, routes },
  }
  const host = { env: {}, readText: () => '' }
  const { configuration } = loadConfiguration(JSON.stringify(document), 'bench.yaml', host)
  if (configuration === undefined) throw new Error('the configuration has mistakes')
  const compiled = compile(configuration)
  const clock = { now: () => performance.now(), wall: Date.now }
  const world = {
    ...{ clock, random: Math.random, metrics: createMetrics(), census: { count: 0 } },
    log: { event() {}, request() {}, flush() {} },
    ...{ reports: new Reports(clock), lookups: new Lookups(), schedule: () => () => {} },
  }
  const coldStart = { reached() {}, unreached: () => false }
  return [...compiled.upstreams.values()].map(
    (settings) => new Endpoints(settings, compiled.section, world, coldStart, () => {}),
  )
}

function listOf(generation: number) {
  return Array.from({ length: 1000 }, (_, index) => {
    const address = `10.${generation % 2}.${index >> 8}.${index & 255}`
    return { id: `${address} ${generation}`, address, port: 8000 }
  })
}

const upstreams = opened()
const lists = Array.from({ length: 3 }, (_, generation) => listOf(generation))

function apply(generation: number): void {
  const list = lists[generation % lists.length] ?? []
  for (const [index, upstream] of upstreams.entries())
    upstream.set(list.slice(index * OF_ONE, (index + 1) * OF_ONE))
}

/** A turn of the event loop each, so that removed endpoints can be freed. */
function applied(generationOf: (round: number) => number) {
  return async (times: number) => {
    for (let round = 0; round < times; round++) {
      apply(generationOf(round))
      await setImmediate()
    }
  }
}

function choices(keyOf: (round: number) => number | undefined) {
  return (times: number) => {
    for (let round = 0; round < times; round++)
      if (upstreams[0]?.choose([], keyOf(round), 0) === undefined)
        throw new Error('none was chosen')
  }
}

apply(0)

await compare(import.meta.url, 500, {
  '1,000 new endpoints': applied((round) => round + 1),
  'the same 1,000 again': applied(() => 0),
  'one of 250 by load': choices(() => undefined),
  'one of 250 by a key': choices((round) => Math.imul(round, 0x9e3779b1)),
})
