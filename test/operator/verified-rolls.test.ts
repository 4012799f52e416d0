/**
 * A thousand rolls with faults: pods that restart, links that are cut, upstreams that break and mend, Secrets that
 * change, pods that join and leave. Verified is never True for longer than the bound while a route does not answer.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PACE, Verdicts } from '../../dataplane/gateway/verdicts.ts'
import { compile } from '../../operator/compile/compile.ts'
import { readReport } from '../../operator/delivery/pod-reports.ts'
import type { PodState } from '../../operator/delivery/pusher.ts'
import { judge } from '../../operator/status/policies.ts'
import { VERIFIED } from '../../operator/status/verified.ts'
import { cases } from '../helpers/cases.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { aRandom } from '../helpers/random.ts'
import { deployment, documentOf, factsOf } from './a-status.ts'

const ROUTES = ['chat', 'embed']
const STEP_MS = 2500
const FAULTS_MS = 150_000
const END_MS = 190_000
/** The operator asks each pod again after this time. */
const LOOK_MS = 5000
const PROBE_MS = STEP_MS
/** An answer is at most one interval of probes, one probe and two looks old. */
const BOUND_MS = PACE.answersMs + PROBE_MS + 2 * LOOK_MS + 2 * STEP_MS

const route = (name: string) => ({ name, strategy: 'single', upstreams: ['local'], verify: true })
const gateway = aGateway({ gw: { routes: ROUTES.map(route) } })
const document = documentOf(gateway)
const facts = factsOf({ gateway, documents: { configuration: document } })
const compiled = compile({ gateway, keys: [], now: 0 })
const OLD = { hash: 'old', documentHash: 'old', sequence: 1, generation: 1 }

type Chance = (bound: number) => number

class SimulatedPod {
  readonly name: string
  readonly #chance: Chance
  #verdicts = new Verdicts()
  #running: { readonly route: string; readonly round: number }[] = []
  readonly works = new Map(ROUTES.map((name) => [name, true]))
  readonly lastWorked = new Map<string, number>()
  isLinked = true
  isReady = true
  /** Absent until it starts again. */
  startsAt: number | undefined
  hasDocument = false
  takesAt: number
  known: PodState | undefined
  looksAt = 0

  constructor(name: string, now: number, chance: Chance) {
    this.name = name
    this.#chance = chance
    this.takesAt = now + chance(20_000)
    this.#activate(now)
  }

  #activate(now: number): void {
    this.#running = []
    this.#verdicts.follow(this.hasDocument ? document.hash : 'old', ROUTES, now)
  }

  fault(now: number): void {
    const name = ROUTES[this.#chance(ROUTES.length)] ?? ''
    switch (this.#chance(7)) {
      case 0:
        this.works.set(name, false)
        return
      case 1:
        this.works.set(name, true)
        return
      case 2:
        this.isLinked = !this.isLinked
        return
      case 3:
        // A Secret was replaced by one that does not work.
        this.#activate(now)
        this.works.set(name, this.#chance(2) === 0)
        return
      case 4:
        this.#verdicts.doubt(now)
        return
      case 5:
        this.isReady = !this.isReady
        return
      default:
        this.startsAt = now + this.#chance(8000)
    }
  }

  heal(): void {
    this.isLinked = true
    this.isReady = true
    for (const name of ROUTES) this.works.set(name, true)
  }

  step(now: number): void {
    if (this.startsAt !== undefined) {
      if (now < this.startsAt) return
      this.startsAt = undefined
      this.#verdicts = new Verdicts()
      this.#activate(now)
    }
    if (!this.hasDocument && now >= this.takesAt && this.isLinked) {
      this.hasDocument = true
      this.#activate(now)
    }
    for (const name of ROUTES)
      if (this.hasDocument && this.works.get(name) === true) this.lastWorked.set(name, now)
    for (const one of this.#running) {
      const ok = this.works.get(one.route) === true
      this.#verdicts.ended(one, { ok, why: ok ? '200' : '503', ms: 1 }, now, now)
    }
    this.#running = this.#verdicts.begin(now, 4)
  }

  /** The operator gets a report, or no answer. */
  look(now: number): void {
    if (now < this.looksAt) return
    this.looksAt = now + LOOK_MS
    const isUp = this.isLinked && this.startsAt === undefined
    if (!isUp) {
      this.known = this.known && { ...this.known, isSilent: true }
      return
    }
    const { hash, documentHash, sequence, generation } = this.hasDocument ? document : OLD
    const configuration = { hash, documentHash, sequence, generation, newestSequence: sequence }
    const report = readReport({ configuration, verification: this.#verdicts.report(now) })
    const lane = { state: this.hasDocument ? 'acknowledged' : 'pending' } as const
    this.known = { ...unknownPod(this.name), report, configuration: lane, isSilent: false }
  }

  get state(): PodState {
    const { name, known = unknownPod(name) } = this
    return { ...known, target: { ...known.target, ready: this.isReady } }
  }
}

function unknownPod(name: string): PodState {
  const target = { uid: name, name, origin: 'http://x', ready: true }
  return {
    target,
    report: undefined,
    configuration: { state: 'pending' },
    keys: { state: 'pending' },
  }
}

function statusOf(pods: readonly SimulatedPod[], now: number) {
  const ready = pods.filter(({ isReady }) => isReady).length
  const count = pods.length
  const counts = { replicas: count, updatedReplicas: count, availableReplicas: ready }
  return judge(VERIFIED, {
    ...facts,
    gateway,
    compiled,
    before: { conditions: [], problems: [], pods: [] },
    now: new Date(now).toISOString(),
    pods: pods.map(({ state }) => state),
    endpoints: ready,
    deployment: {
      ...deployment,
      spec: { replicas: count },
      status: { ...deployment.status, ...counts, readyReplicas: ready },
    },
  })
}

function roll(seed: number): { readonly trueSteps: number } {
  const chance = aRandom(seed)
  let pods = Array.from(
    { length: 1 + chance(3) },
    (_, index) => new SimulatedPod(`p${index}`, 0, chance),
  )
  let trueSteps = 0
  for (let now = 0; now < END_MS; now += STEP_MS) {
    const isFaulty = now < FAULTS_MS
    if (isFaulty && chance(4) === 0) pods[chance(pods.length)]?.fault(now)
    if (isFaulty && chance(25) === 0) pods = [...pods, new SimulatedPod(`n${now}`, now, chance)]
    if (isFaulty && chance(30) === 0 && pods.length > 1) pods = pods.slice(1)
    if (now === FAULTS_MS) for (const pod of pods) pod.heal()
    for (const pod of pods) pod.step(now)
    for (const pod of pods) pod.look(now)
    const { status, message } = statusOf(pods, now)
    if (status !== 'True') continue
    trueSteps++
    for (const { name, isReady, lastWorked } of pods) {
      if (!isReady) continue
      for (const one of ROUTES) {
        const sinceMs = now - (lastWorked.get(one) ?? Number.NEGATIVE_INFINITY)
        const said = `seed ${seed}, ${now} ms: "${message}", but ${one} last worked in ${name} ${sinceMs} ms ago`
        assert.ok(sinceMs <= BOUND_MS, said)
      }
    }
  }
  assert.equal(
    statusOf(pods, END_MS).status,
    'True',
    `seed ${seed}: it is verified after the faults`,
  )
  return { trueSteps }
}

test('in 1,000 faulted rolls Verified is never True for a route that does not answer', (t) => {
  let trueSteps = 0
  const count = cases(1000, 20_000)
  for (let seed = 1; seed <= count; seed++) trueSteps += roll(seed).trueSteps
  t.diagnostic(`${count} rolls, ${trueSteps} moments of True`)
})
