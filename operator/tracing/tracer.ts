/** Traces of the operator: one for each reconcile of a gateway, with its pushes, within a bound. */
import { randomBytes } from 'node:crypto'
import type { OperatorSpan } from './spans.ts'

/** The parent of a push; undefined without a collector, or if the bound is reached. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
}

export interface Push {
  readonly context: TraceContext | undefined
  readonly document: string
  /** NAMESPACE/NAME. */
  readonly gateway: string
  readonly pod: string
  /** `http://address:port`. */
  readonly origin: string
  /** `acknowledged`, `rejected`, `pending` or `unreachable`. */
  readonly result: string
  readonly seconds: number
}

/** Most spans recorded in a second: a burst of changes must not become one of spans. */
const SPANS_MAX = 100
const SECOND_MS = 1000
const GOOD: ReadonlySet<string> = new Set(['acknowledged', 'pending'])

export class Tracer {
  readonly #send: (span: OperatorSpan) => void
  readonly #wallClock: () => number
  #second = 0
  #taken = 0

  constructor(send: (span: OperatorSpan) => void, wallClock: () => number) {
    this.#send = send
    this.#wallClock = wallClock
  }

  /** Runs it as a span. */
  async reconcile<Result>(
    gateway: string,
    work: (context: TraceContext | undefined) => Promise<Result>,
  ): Promise<Result> {
    if (!this.#takes()) return await work(undefined)
    const context = { traceId: randomId(16), spanId: randomId(8) }
    const startedAt = this.#wallClock()
    let error: string | undefined
    try {
      return await work(context)
    } catch (fault) {
      error = fault instanceof Error ? fault.name : 'Error'
      throw fault
    } finally {
      this.#send({
        ...{ ...context, parentId: undefined, name: 'reconcile gateway', kind: 'internal' },
        ...{ startedAt, endedAt: this.#wallClock(), error },
        attributes: { ...namesOf(gateway), 'error.type': error },
      })
    }
  }

  push({ context, document, gateway, pod, origin, result, seconds }: Push): void {
    if (context === undefined || !this.#takes()) return
    const endedAt = this.#wallClock()
    const { hostname, port } = new URL(origin)
    const error = GOOD.has(result) ? undefined : result
    this.#send({
      ...{ traceId: context.traceId, spanId: randomId(8), parentId: context.spanId },
      ...{ name: `push ${document}`, kind: 'client', error },
      ...{ startedAt: endedAt - seconds * 1000, endedAt },
      attributes: {
        ...namesOf(gateway),
        'k8s.pod.name': pod,
        'server.address': hostname,
        'server.port': Number(port),
        'http.request.method': 'PUT',
        'gw.document': document,
        'gw.result': result,
        'error.type': error,
      },
    })
  }

  #takes(): boolean {
    const second = Math.floor(this.#wallClock() / SECOND_MS)
    if (second !== this.#second) {
      this.#second = second
      this.#taken = 0
    }
    return ++this.#taken <= SPANS_MAX
  }
}

function namesOf(key: string) {
  const [namespace, name] = key.split('/')
  return { 'k8s.namespace.name': namespace, 'gw.gateway': name }
}

function randomId(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}
