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
import type { Target } from '../../../upstream/live/targets.ts'
import type { ModelRequest } from '../../../wire/inner-form.ts'
import type { Concession } from '../../../wire/provider.ts'
import { Unsupported } from '../../../wire/unsupported.ts'
import type { AttemptAdmission, AttemptedRequest } from './asked.ts'

/** Further forms for the present target, which has refused the first. */
interface Conceded {
  readonly target: Target
  readonly forms: readonly Concession[]
}

export class Writing {
  readonly #asked: AttemptedRequest
  readonly #terms: AttemptAdmission
  #conceded: Conceded | undefined

  constructor(asked: AttemptedRequest, terms: AttemptAdmission) {
    this.#asked = asked
    this.#terms = terms
  }

  /** Returns the refusal if the target does not support the request. */
  write(target: Target): Encoded | Unsupported {
    return this.#encoded(this.#asked.request, target)
  }

  /** Writes the request in another form; undefined if the target had that form already or does not support it. */
  async writeOtherwise(target: Target, form: Concession): Promise<Written | undefined> {
    const { request, dialect, presence } = this.#asked
    const forms = this.#formsOf(target)
    if (forms.includes(form)) return undefined
    this.#conceded = { target, forms: [...forms, form] }
    await recall(request, dialect.reading)
    if (presence.state === 'over') return undefined
    const other = inForms(request, this.#conceded)
    const written = await writtenOut(request, () => {
      const encoded = this.#encoded(other, target)
      return encoded instanceof Unsupported ? undefined : encoded
    })
    return this.#asked.presence.state === 'over' ? undefined : written
  }

  /** An upstream that accepted only the translation gets no later request in the client's wire. */
  taken({ state }: Target): void {
    if (this.#conceded?.target.state !== state || !this.#conceded.forms.includes('translated'))
      return
    noteLacking(state, this.#asked.dialect.wire)
  }

  /** Whether the target supports the request, regardless of its health and load. */
  mayTake(target: Target): boolean {
    return this.#terms.fits(target) && !(this.write(target) instanceof Unsupported)
  }

  #encoded(request: ModelRequest, target: Target): Encoded | Unsupported {
    const isAutoMarked = marksItself(target.settings, this.#terms.route)
    // A copy would keep the tree of a large body.
    if (isAutoMarked !== (request.isAutoMarked ?? false)) request.isAutoMarked = isAutoMarked
    try {
      return encodeFor(request, this.#encodingFor(target))
    } catch (error) {
      if (error instanceof Unsupported) return error
      throw error
    }
  }

  /** Targets without the operation are not candidates. */
  #encodingFor(target: Target): RequestEncoding {
    const { route, maxTokens } = this.#terms
    // A missing credential does not change which features the target supports.
    const settings = target.settingsNow ?? target.settings
    const drops = route.section.on_unsupported === 'drop'
    const { provider, native } = settings
    const wires = native && this.#nativeFor(target)
    const pair = pairOf(this.#asked.dialect, provider, wires) as Pair
    return { pair, settings, maxTokens, drops, caller: this.#asked.caller }
  }

  /** Native wires this request may use at the target; undefined: translate. */
  #nativeFor(target: Target): readonly string[] | undefined {
    const { request, inspector, dialect } = this.#asked
    if (inspector !== undefined || request.isRewritten) return undefined
    if (isLacking(target.state, dialect.wire)) return undefined
    return this.#formsOf(target).includes('translated') ? undefined : target.settings.native
  }

  #formsOf(target: Target): readonly Concession[] {
    return this.#conceded?.target === target ? this.#conceded.forms : []
  }
}

function marksItself({ section, provider }: UpstreamSettings, route: Route): boolean {
  return (route.section.cache ?? section.cache) === 'auto' && provider.cacheable !== undefined
}

function inForms(request: ModelRequest, { forms }: Conceded): ModelRequest {
  const [isUnsealed, isUnthinking] = [forms.includes('unsealed'), forms.includes('unthinking')]
  return isUnsealed || isUnthinking ? { ...request, isUnsealed, isUnthinking } : request
}
