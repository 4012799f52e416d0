/** An upstream with few places in virtual time, and tenants that ask for more than it has. */
import { Fairness } from '../../../../dataplane/schema/fairness.ts'
import { type ShareCharge, Shares } from '../../../../dataplane/upstream/fairness/shares.ts'
import { aRandom } from '../../../helpers/random.ts'

export interface Crowd {
  readonly tenant: string
  readonly isLow?: boolean
  /** Requests that wait at any time; with `everyMs`, requests that come at once. */
  readonly depth: number
  /** Between two requests; absent: a new one comes as soon as one starts. */
  readonly everyMs?: number
  /** When it asks; absent: always. */
  readonly fromMs?: number
  readonly untilMs?: number
  /** Output tokens of an answer, from and below. */
  readonly tokens: readonly [number, number]
}

export interface Scene {
  readonly fairness: object
  readonly crowds: readonly Crowd[]
  readonly forMs: number
  readonly places?: number
  /** Output tokens a second in each place. */
  readonly pace?: number
  readonly seed?: number
}

export interface Wait {
  readonly tenant: string
  readonly cameMs: number
  readonly ms: number
  /** Output tokens of the tenant's requests that waited before it, and its own. */
  readonly tokens: number
}

interface Request {
  readonly crowd: Crowd
  readonly cameMs: number
  readonly tokens: number
  readonly behind: number
}

interface Run {
  readonly request: Request
  readonly charge: ShareCharge<Request>
  made: number
}

const STEP_MS = 10
const TICK_MS = 250

/** Plays a scene. Throws if a place is free while a request waits. */
export class FullUpstream {
  /** Output tokens of each tenant in each step. */
  readonly made = new Map<string, Float64Array>()
  readonly waits: Wait[] = []
  /** Requests that went because too many waited. */
  readonly refused: { readonly tenant: string; readonly cameMs: number }[] = []
  readonly shares = new Shares<Request>()
  readonly #scene: Required<Scene>
  readonly #random: (bound: number) => number
  #runs: Run[] = []

  constructor(scene: Scene) {
    this.#scene = { places: 32, pace: 100, seed: 1, ...scene }
    this.#random = aRandom(this.#scene.seed)
    this.shares.configure(Fairness.parse(scene.fairness))
    const { crowds, forMs } = this.#scene
    for (const { tenant } of crowds) this.made.set(tenant, new Float64Array(forMs / STEP_MS))
  }

  play(): this {
    for (let now = 0; now < this.#scene.forMs; now += STEP_MS) {
      this.#arrive(now)
      this.#work(now)
      this.#fill(now)
      if (this.shares.size > 0 && this.#runs.length < this.#scene.places)
        throw new Error(`a place is free after ${now} ms`)
    }
    return this
  }

  /** The part of all output tokens that the tenant had in each span of that length, one after the other. */
  partsOf(tenant: string, spanMs: number, fromMs = 0): number[] {
    const [steps, parts] = [spanMs / STEP_MS, [] as number[]]
    const all = [...this.made.values()]
    const mine = this.made.get(tenant) as Float64Array
    let [own, sum] = [0, 0]
    for (let step = fromMs / STEP_MS; step < mine.length; step++) {
      const gone = step - steps
      const isIn = gone >= fromMs / STEP_MS
      own += (mine[step] as number) - (isIn ? (mine[gone] as number) : 0)
      for (const one of all) sum += (one[step] as number) - (isIn ? (one[gone] as number) : 0)
      if (gone >= fromMs / STEP_MS - 1) parts.push(own / sum)
    }
    return parts
  }

  waitsOf(tenant: string): Wait[] {
    return this.waits.filter((wait) => wait.tenant === tenant)
  }

  #arrive(now: number): void {
    for (const crowd of this.#scene.crowds) {
      const { depth, everyMs, fromMs = 0, untilMs = Number.POSITIVE_INFINITY } = crowd
      if (now < fromMs || now >= untilMs) continue
      if (everyMs === undefined) this.#flood(crowd, now)
      else if ((now - fromMs) % everyMs === 0)
        for (let count = 0; count < depth; count++) this.#come(crowd, now)
    }
  }

  #flood(crowd: Crowd, now: number): void {
    const { waiting } = this.shares.account(crowd.tenant, crowd.isLow ?? false)
    while (waiting.length < crowd.depth) this.#come(crowd, now)
  }

  #come(crowd: Crowd, cameMs: number): void {
    const [from, below] = crowd.tokens
    const tokens = from + this.#random(below - from)
    const account = this.shares.account(crowd.tenant, crowd.isLow ?? false)
    const behind = account.waiting.reduce((sum, one) => sum + one.tokens, tokens)
    const out = this.shares.join(account, { crowd, cameMs, tokens, behind })
    if (out !== undefined) this.refused.push({ tenant: out.crowd.tenant, cameMs })
  }

  #work(now: number): void {
    const step = (this.#scene.pace * STEP_MS) / 1000
    const isTick = now % TICK_MS === 0
    this.#runs = this.#runs.filter((run) => {
      const { request, charge } = run
      const more = Math.min(step, request.tokens - run.made)
      run.made += more
      const made = this.made.get(request.crowd.tenant) as Float64Array
      made[now / STEP_MS] = (made[now / STEP_MS] as number) + more
      if (run.made < request.tokens) {
        if (isTick) this.shares.progress(charge, run.made, now)
        return true
      }
      this.shares.end(charge)
      this.shares.settle(charge, request.tokens, now)
      return false
    })
  }

  #fill(now: number): void {
    while (this.#runs.length < this.#scene.places) {
      const next = this.shares.next()
      if (next === undefined) return
      const { one: request, account } = next
      const charge = this.shares.charge(account, Number.POSITIVE_INFINITY)
      this.#runs.push({ request, charge, made: 0 })
      const { cameMs, behind, crowd } = request
      this.waits.push({ tenant: crowd.tenant, cameMs, ms: now - cameMs, tokens: behind })
      if (crowd.everyMs === undefined && now < (crowd.untilMs ?? now + 1)) this.#flood(crowd, now)
    }
  }
}
