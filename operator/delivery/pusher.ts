/** Delivers the documents of every gateway to each of its pods independently, so that a hanging pod delays no other. */
import type { LaneState, LinkTimings } from './pod-lane.ts'
import { PodLink } from './pod-link.ts'
import type { PodLinkOptions, PodPush, PushedPart, Wanted } from './pod-pushes.ts'
import type { PodReport } from './pod-reports.ts'

export interface PodTarget {
  /** Uid of the pod: a new pod with an old name is another one. */
  readonly uid: string
  readonly name: string
  /** `http://address:port` of its push port. */
  readonly origin: string
  readonly ready: boolean
}

export interface PodState {
  readonly target: PodTarget
  readonly report: PodReport | undefined
  readonly configuration: LaneState
  readonly keys: LaneState
  /** Whether the pod has not answered the operator since its last report. */
  readonly isSilent?: boolean
}

/** A push to a pod of a gateway. */
export interface GatewayPush extends PodPush {
  /** NAMESPACE/NAME. */
  readonly gateway: string
  readonly pod: string
  readonly origin: string
}

export interface PusherOptions extends Pick<PodLinkOptions, 'transport' | 'random'> {
  readonly onPush: (push: GatewayPush) => void
  /** Called when the state of a pod of this gateway changes. */
  readonly onChange: (gateway: string) => void
  readonly timings?: Partial<LinkTimings>
}

const TIMINGS: LinkTimings = {
  deadlineMs: 8000,
  verifyMs: 30_000,
  verifyUneasyMs: 4000,
  verifySharedMs: 2500,
  backoffMs: 250,
  backoffMsMax: 10_000,
}

interface Linked {
  target: PodTarget
  readonly link: PodLink
}

export class Pusher {
  readonly #options: PusherOptions
  readonly #gateways = new Map<string, Map<string, Linked>>()
  /** Over all gateways. */
  #links = 0

  constructor(options: PusherOptions) {
    this.#options = options
  }

  /** Delivers these documents to these pods from now on; pods that are not named are dropped. */
  program(gateway: string, targets: readonly PodTarget[], wanted: Wanted): void {
    const pods = this.#gateways.get(gateway) ?? new Map<string, Linked>()
    this.#gateways.set(gateway, pods)
    const named = new Set(targets.map(({ uid, origin }) => `${uid} ${origin}`))
    for (const [id, { link }] of pods) {
      if (named.has(id)) continue
      this.#close(link)
      pods.delete(id)
    }
    for (const target of targets) {
      const id = `${target.uid} ${target.origin}`
      const known = pods.get(id) ?? { target, link: this.#open(gateway, target) }
      const becameReady = target.ready && !known.target.ready
      known.target = target
      pods.set(id, known)
      known.link.want(wanted)
      if (becameReady) {
        known.link.doubt()
        void known.link.verify()
      }
    }
  }

  statesOf(gateway: string): PodState[] {
    return [...(this.#gateways.get(gateway)?.values() ?? [])].map(({ target, link }) => ({
      target,
      report: link.report,
      configuration: link.laneOf('configuration'),
      keys: link.laneOf('keys'),
      isSilent: link.isSilent,
    }))
  }

  /** Some pods would refuse documents below this sequence as old. */
  floorOf(gateway: string, part: PushedPart): number {
    const links = [...(this.#gateways.get(gateway)?.values() ?? [])]
    return links.reduce((most, { link }) => Math.max(most, link.floorOf(part)), 0)
  }

  forget(gateway: string): void {
    for (const { link } of this.#gateways.get(gateway)?.values() ?? []) this.#close(link)
    this.#gateways.delete(gateway)
  }

  close(): void {
    for (const gateway of [...this.#gateways.keys()]) this.forget(gateway)
  }

  #close(link: PodLink): void {
    this.#links--
    link.close()
  }

  #open(gateway: string, { origin, name: pod }: PodTarget): PodLink {
    this.#links++
    const { transport, random, onPush, onChange, timings } = this.#options
    return new PodLink(origin, {
      transport,
      random,
      onPush: (push) => onPush({ ...push, gateway, pod, origin }),
      timings: { ...TIMINGS, ...timings },
      onChange: () => onChange(gateway),
      crowd: () => this.#links,
    })
  }
}
