/** Writes one request for its targets, and remembers the forms that a target has refused. */
import { recall } from '../../../body/request.ts'
import type { Route, UpstreamSettings } from '../../../config/snapshot.ts'
import { type Pair, pairOf } from '../../../translation/pair.ts'
import { isLacking, noteLacking } from '../../../upstream/answer/lacking-wires.ts'
import {
  type Encoded,
  encodeFor,
  type RequestEncoding,
} from '../../../upstream/encoding/pool-request.ts'
import { type Written, writtenOut } from '../../../upstream/encoding/written-out.ts'
import { isSameFacts, withFacts } from '../../../upstream/live/lessons.ts'
import type { Target } from '../../../upstream/live/targets.ts'
import type { ModelRequest } from '../../../wire/inner-form.ts'
import type { Capabilities } from '../../../wire/models/capabilities.ts'
import type { Workaround } from '../../../wire/provider.ts'
import { Unsupported } from '../../../wire/unsupported.ts'
import type { AttemptAdmission, AttemptedRequest } from './asked.ts'

/** Further forms for the present target, which has refused the first. */
interface Adaptation {
  readonly forms: readonly string[]
  /** The facts about its model that its refusals of this request show. */
  readonly taught: Capabilities
}

/** In most requests. */
const NOTHING: Adaptation = { forms: [], taught: {} }
/** Most facts that the refusals of one request may show, one after the other. */
const LESSONS_MAX = 4

export class Writing {
  readonly #asked: AttemptedRequest
  readonly #terms: AttemptAdmission
  #adaptation: (Adaptation & { readonly target: Target }) | undefined

  constructor(asked: AttemptedRequest, terms: AttemptAdmission) {
    this.#asked = asked
    this.#terms = terms
  }

  /** Returns the refusal if the target does not support the request. `key`: the index of one of several keys. */
  write(target: Target, key?: number): Encoded | Unsupported {
    return this.#encoded(this.#asked.request, target, key)
  }

  /**
   * Writes the request in another form than `before`; undefined if the target had that form already, does not support it,
   * or would get the same request.
   */
  async writeOtherwise(
    target: Target,
    workaround: Workaround,
    before: Written,
  ): Promise<Written | undefined> {
    const { request, dialect, presence } = this.#asked
    const adaptation = adapted(this.#adaptationFor(target), workaround)
    if (adaptation === undefined) return undefined
    this.#adaptation = { ...adaptation, target }
    await recall(request, dialect.reading)
    if (presence.state === 'over') return undefined
    const isUnsealed = adaptation.forms.includes('unsealed')
    const other = isUnsealed ? { ...request, isUnsealed } : request
    const written = await writtenOut(request, () => {
      const encoded = this.#encoded(other, target, before.key)
      return encoded instanceof Unsupported ? undefined : encoded
    })
    if (this.#asked.presence.state === 'over' || written === undefined) return undefined
    return isSame(written, before) ? undefined : written
  }

  /** Remembers the form that the upstream has accepted, for later requests. */
  taken(target: Target): void {
    const { forms, taught } = this.#adaptationFor(target)
    if (forms.includes('translated')) noteLacking(target.state, this.#asked.dialect.wire)
    if (Object.keys(taught).length > 0) target.state.lessons.learn(target.settings.model, taught)
  }

  /** Whether the target supports the request, regardless of its health and load. */
  mayTake(target: Target): boolean {
    return this.#terms.fits(target) && !(this.write(target) instanceof Unsupported)
  }

  #encoded(request: ModelRequest, target: Target, key?: number): Encoded | Unsupported {
    const isAutoMarked = marksItself(target.settings, this.#terms.route)
    // A copy would keep the tree of a large body.
    if (isAutoMarked !== (request.isAutoMarked ?? false)) request.isAutoMarked = isAutoMarked
    try {
      const encoded = encodeFor(request, this.#encodingFor(target, key))
      return key === undefined ? encoded : { ...encoded, key }
    } catch (error) {
      if (error instanceof Unsupported) return error
      throw error
    }
  }

  /** Targets without the operation are not candidates. */
  #encodingFor(target: Target, key: number | undefined): RequestEncoding {
    const { route, maxTokens } = this.#terms
    // A missing credential does not change which features the target supports.
    const present = key === undefined ? target.settingsNow : target.settingsWith(key)
    const known = target.state.lessons.over(present ?? target.settings)
    const { taught, forms } = this.#adaptationFor(target)
    const isTaught = Object.keys(taught).length > 0
    const settings = isTaught
      ? { ...known, capabilities: withFacts(known.capabilities, taught) }
      : known
    const drops = route.section.on_unsupported === 'drop'
    const { provider, native } = settings
    const wires = native && this.#nativeFor(target, forms)
    const pair = pairOf(this.#asked.dialect, provider, wires) as Pair
    return { pair, settings, maxTokens, drops, caller: this.#asked.caller }
  }

  /** Native wires this request may use at the target; undefined: translate. */
  #nativeFor(target: Target, forms: readonly string[]): readonly string[] | undefined {
    const { request, inspector, dialect } = this.#asked
    if (inspector !== undefined || request.isRewritten) return undefined
    if (isLacking(target.state, dialect.wire)) return undefined
    return forms.includes('translated') ? undefined : target.settings.native
  }

  #adaptationFor(target: Target): Adaptation {
    return this.#adaptation?.target === target ? this.#adaptation : NOTHING
  }
}

function marksItself({ section, provider }: UpstreamSettings, route: Route): boolean {
  return (route.section.cache ?? section.cache) === 'auto' && provider.cacheable !== undefined
}

/** undefined if the adaptation has it already. */
function adapted(before: Adaptation, workaround: Workaround): Adaptation | undefined {
  const { forms, taught } = before
  if (typeof workaround === 'string')
    return forms.includes(workaround) ? undefined : { ...before, forms: [...forms, workaround] }
  const more = withFacts(taught, workaround.teaches)
  if (isSameFacts(taught, more) || forms.length >= LESSONS_MAX) return undefined
  return { ...before, forms: [...forms, 'lesson'], taught: more }
}

/** A large body is not compared: it was written in pages. */
function isSame({ upstream: one }: Written, { upstream: other }: Written): boolean {
  if (one.path !== other.path || one.rest !== undefined || other.rest !== undefined) return false
  return Buffer.from(one.body).equals(Buffer.from(other.body))
}
