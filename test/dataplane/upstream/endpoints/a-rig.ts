/** The endpoints of one upstream as an operator has sent them, on a clock that the test advances. */
import assert from 'node:assert/strict'
import { loadConfiguration } from '../../../../dataplane/config/load.ts'
import { compile } from '../../../../dataplane/config/snapshot.ts'
import { createMetrics } from '../../../../dataplane/telemetry/metrics.ts'
import type { Endpoint } from '../../../../dataplane/upstream/endpoints/endpoint.ts'
import { Endpoints } from '../../../../dataplane/upstream/endpoints/endpoints.ts'
import { Lookups } from '../../../../dataplane/upstream/endpoints/names.ts'
import { PushedEndpoints } from '../../../../dataplane/upstream/endpoints/pushed.ts'
import { Reports } from '../../../../dataplane/upstream/endpoints/reports.ts'

/** From 10.0.0.1 on. */
export function addresses(count: number) {
  return Array.from({ length: count }, (_, index) => {
    const address = `10.0.${(index + 1) >> 8}.${(index + 1) & 255}`
    return { id: `${address} 8000`, address, port: 8000 }
  })
}

export function aRig(count: number) {
  const rig = { now: 1_000_000 }
  const clock = { now: () => rig.now, wall: () => rig.now }
  const upstream = {
    ...{ name: 'chat', provider: 'vllm', model: 'm' },
    ...{ endpoint: 'http://chat.models.svc:8000', endpoints: 'pods' },
  }
  const document = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: { upstreams: [upstream], routes: [{ name: 'r', strategy: 'single', primary: 'chat' }] },
  }
  const host = { env: {}, readText: () => '' }
  const { configuration } = loadConfiguration(JSON.stringify(document), 'test.yaml', host)
  assert.ok(configuration)
  const { upstreams, section } = compile(configuration)
  const settings = upstreams.get('chat') ?? assert.fail('no upstream')
  const pushed = new PushedEndpoints()
  pushed.set(new Map([['chat', addresses(count)]]))
  const world = {
    ...{ clock, pushed, random: () => 0.5, metrics: createMetrics(), census: { count: 0 } },
    log: { event() {}, request() {}, flush() {} },
    reports: new Reports(clock),
    lookups: new Lookups(),
    schedule: () => () => {},
  }
  const recoveries = { count: 0 }
  const coldStart = { reached() {}, unreached: () => false }
  const endpoints = new Endpoints(settings, section, world, coldStart, () => recoveries.count++)
  endpoints.configure(settings)
  const choose = (...tried: Endpoint[]) => endpoints.choose(tried, undefined, rig.now)
  const chosen = () => new Set(Array.from({ length: 4 * count }, () => choose()?.shown)).size
  const fail = (times: number) => {
    for (let time = 0; time < times; time++) {
      const one = choose() ?? assert.fail('none is left')
      endpoints.failed(one, rig.now)
    }
  }
  return { rig, recoveries, endpoints, choose, chosen, fail }
}
