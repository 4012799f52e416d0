/** One guardrail of the configuration: the verdict of its sidecar, and the default if the sidecar does not answer. */
import { type Auxiliary, AuxiliaryError, type AuxiliaryWorld } from '../auxiliaries/auxiliary.ts'
import { GatewayError } from '../base/errors.ts'
import type { Section } from '../schema/index.ts'
import type { Protocol, Said, Side, Subject, Verdict } from './contract.ts'
import { litellm } from './litellm.ts'
import { Sidecar } from './sidecar.ts'
import { webhook } from './webhook.ts'

export type GuardrailSection = Section['guardrails'][number]

/** Readers of an answer have their own deadline, and end the reading themselves. */
const NO_BOUNDS: Pick<Subject, 'signal' | 'totalAt'> = {}

const PROTOCOLS: Readonly<Record<GuardrailSection['protocol'], Protocol>> = { webhook, litellm }

/** A verdict for the trace. */
export interface Judgement {
  readonly name: string
  readonly side: Side
  readonly verdict: string
  readonly ms: number
  readonly reason?: string
}

export type Note = (judgement: Judgement) => void

export class Guard {
  readonly section: GuardrailSection
  readonly #sidecar: Sidecar
  readonly #clock: AuxiliaryWorld['clock']

  constructor(section: GuardrailSection, whole: Section, world: AuxiliaryWorld) {
    this.section = section
    this.#clock = world.clock
    const { name, endpoint, timeout_ms: timeoutMs, headers = {} } = section
    this.#sidecar = new Sidecar({ name, endpoint, timeoutMs, headers }, whole, world)
  }

  /** The state of the sidecar. */
  get auxiliary(): Auxiliary {
    return this.#sidecar.auxiliary
  }

  judges(side: Side): boolean {
    return this.section.stage === 'both' || this.section.stage === side
  }

  /**
   * Returns the texts that may pass. Throws ERR_GW_GUARDRAIL_BLOCKED, or ERR_GW_AUXILIARY_UNAVAILABLE if the sidecar
   * does not answer and `on_error` is block.
   */
  async judge(
    side: Side,
    texts: readonly Said[],
    subject: Subject,
    note: Note,
  ): Promise<readonly string[]> {
    const { name, redact } = this.section
    const began = this.#clock.now()
    const noted = (verdict: string, reason?: string) => {
      this.#sidecar.count(verdict)
      note({ name, side, verdict, ms: this.#clock.now() - began, ...(reason && { reason }) })
    }
    let verdict: Verdict
    try {
      verdict = await this.ask(side, texts, subject)
    } catch (error) {
      if (!(error instanceof AuxiliaryError)) throw error
      note({
        name,
        side,
        verdict: error.outcome,
        ms: this.#clock.now() - began,
        reason: error.message,
      })
      return this.#without(texts, error)
    }
    if (verdict.kind === 'pass') {
      noted('pass')
      return texts.map(({ text }) => text)
    }
    if (verdict.kind === 'mask' && redact && !changesFixed(texts, verdict.texts)) {
      noted('mask')
      return verdict.texts
    }
    const reason = verdict.kind === 'block' ? verdict.message : UNREDACTED
    noted('block', reason)
    throw blocked(name, side, reason)
  }

  /** The bare verdict. Throws AuxiliaryError. */
  async ask(side: Side, texts: readonly Said[], subject: Subject): Promise<Verdict> {
    const protocol = PROTOCOLS[this.section.protocol]
    const { path, body } = protocol.write(side, texts, subject)
    const read = (answer: unknown) => protocol.read(side, answer, texts.length)
    const length = texts.reduce((sum, { text }) => sum + text.length, 0)
    const { signal, totalAt = Number.POSITIVE_INFINITY } = side === 'input' ? subject : NO_BOUNDS
    const msMax = totalAt - this.#clock.now()
    return await this.#sidecar.ask(path, { body, length }, read, { msMax, leaving: signal })
  }

  /** The error for a request now, if the sidecar is unreachable and `on_error` is block. */
  refusalNow(): GatewayError | undefined {
    const { breaker } = this.auxiliary
    const isAsked = breaker.permits(this.#clock.now())
    if (isAsked || this.section.on_error === 'allow') return undefined
    return withoutVerdict(this.section.name, 'it keeps failing')
  }

  close(): void {
    this.#sidecar.close()
  }

  #without(texts: readonly Said[], error: AuxiliaryError): readonly string[] {
    const { name, on_error } = this.section
    if (error.outcome === 'left')
      throw new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
    if (on_error === 'allow') return texts.map(({ text }) => text)
    throw withoutVerdict(name, error.message)
  }
}

function withoutVerdict(name: string, reason: string): GatewayError {
  return new GatewayError(
    'ERR_GW_AUXILIARY_UNAVAILABLE',
    `Guardrail "${name}" gave no verdict, and nothing passes without one. Try again later.`,
    { cause: `guardrail ${name}: ${reason}`, retryAfterSeconds: 1 },
  )
}

function changesFixed(texts: readonly Said[], changed: readonly string[]): boolean {
  return texts.some(({ text, isFixed }, at) => isFixed === true && changed[at] !== text)
}

const UNREDACTED = 'it holds text that this guardrail would change'

function blocked(name: string, side: Side, reason: string | undefined): GatewayError {
  const what = side === 'input' ? 'request' : 'answer'
  const why = reason === undefined ? '' : `: ${reason}`
  return new GatewayError(
    'ERR_GW_GUARDRAIL_BLOCKED',
    `Guardrail "${name}" blocked the ${what}${why}`,
    {
      final: true,
      facts: { guardrail: name, stage: side },
    },
  )
}
