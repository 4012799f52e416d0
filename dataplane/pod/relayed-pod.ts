/** A pod of several processes: documents that an operator pushes reach each of them, and the status tells of the last one. */
import type { Envelope } from '../delivery/signed.ts'
import { type Crew, SilentWorker } from '../workers/crew.ts'
import type { Desk } from '../workers/desk.ts'
import type { Pod } from './pod.ts'
import { type PodResponse, refuse } from './proof.ts'
import type { PushedTo } from './push.ts'

type PodStatus = ReturnType<Pod['status']>
type Document = 'configuration' | 'keys' | 'endpoints'

interface Pushed {
  readonly document: Document
  readonly envelope: unknown
}

const PUSH = 'push'
const STATUS = 'pod status'

/** Changes of keys that are kept for a worker that starts; it finds all keys in the mounted files a moment later. */
const CHANGES_MAX = 256

/** Answers the first process in a worker. */
export function takePushesOf(pod: Pod, desk: Desk): void {
  desk.on(PUSH, ({ document, envelope }: Pushed) => takeInto(pod, document, envelope))
  desk.on(STATUS, () => pod.status())
}

function takeInto(
  pod: Pod,
  document: Document,
  envelope: unknown,
): PodResponse | Promise<PodResponse> {
  if (document === 'configuration') return pod.takeConfiguration(envelope, 'push')
  if (document === 'keys') return pod.takeKeys(envelope, 'push')
  return pod.takeEndpoints(envelope)
}

export class RelayedPod implements PushedTo {
  readonly #pod: Pod
  #crew: Crew | undefined
  /** The accepted documents, for a worker that starts: the last one of each kind, of keys also the changes after it. */
  readonly #pushed = new Map<Document, readonly Pushed[]>()

  /** The last statuses of workers, by their process numbers. */
  #heard = new Map<number, PodStatus>()

  constructor(pod: Pod) {
    this.#pod = pod
  }

  lead(crew: Crew): void {
    this.#crew = crew
    crew.onReady(async (ask) => {
      for (const pushed of [...this.#pushed.values()].flat()) await ask(PUSH, pushed)
    })
  }

  get isReady(): boolean {
    return this.#pod.isReady
  }

  judgeProof(...proof: Parameters<Pod['judgeProof']>) {
    return this.#pod.judgeProof(...proof)
  }

  noteMistake(error: unknown): void {
    this.#pod.noteMistake(error)
  }

  takeConfiguration(envelope: unknown): Promise<PodResponse> {
    return this.#take('configuration', envelope)
  }

  takeKeys(envelope: unknown): Promise<PodResponse> {
    return this.#take('keys', envelope)
  }

  takeEndpoints(envelope: unknown): Promise<PodResponse> {
    return this.#take('endpoints', envelope)
  }

  /** Each document as the process has it that is behind the others. */
  async status() {
    const own = this.#pod.status()
    const all = [own, ...(this.#crew === undefined ? [] : await this.#statusesOf(this.#crew))]
    const last = <Part extends 'configuration' | 'keys' | 'endpoints'>(part: Part) =>
      all.map((status) => status[part]).reduce((a, b) => (b.sequence < a.sequence ? b : a))
    const refused = all.find(({ configuration }) => 'lastError' in configuration)
    return {
      ...own,
      configuration: refused?.configuration ?? last('configuration'),
      keys: last('keys'),
      endpoints: last('endpoints'),
    }
  }

  /** The first answer of a process that did not take it, else that of this process. */
  async #take(document: Document, envelope: unknown): Promise<PodResponse> {
    const answer = await takeInto(this.#pod, document, envelope)
    if (answer.status !== 200) return answer
    this.#keep({ document, envelope })
    try {
      const answers = (await this.#crew?.askEach<PodResponse>(PUSH, { document, envelope })) ?? []
      return answers.find(({ body }) => body.status !== 200)?.body ?? answer
    } catch (error) {
      if (!(error instanceof SilentWorker)) throw error
      return refuse(503, 'busy', `${error.message} Send the document again.`)
    }
  }

  /** One that is too busy to answer has what it had at its last answer. */
  async #statusesOf(crew: Crew): Promise<PodStatus[]> {
    const answers = await crew.ask<PodStatus>(STATUS, undefined)
    const heard = new Map(answers.map(({ pid, body }) => [pid, body]))
    for (const { pid, state } of crew.list()) {
      const before = this.#heard.get(pid)
      if (state !== 'ended' && before !== undefined && !heard.has(pid)) heard.set(pid, before)
    }
    this.#heard = heard
    return [...heard.values()]
  }

  #keep(pushed: Pushed): void {
    const before = isChange(pushed) ? (this.#pushed.get(pushed.document) ?? []) : []
    this.#pushed.set(pushed.document, [...before, pushed].slice(-CHANGES_MAX))
  }
}

/** A canonical document begins with its first member by name. */
function isChange({ envelope }: Pushed): boolean {
  return (envelope as Envelope).document.startsWith('{"changes":')
}
