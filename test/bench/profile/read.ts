/** A profile of Node (`--cpu-prof`) as time by stage and by stack. */
import { type Frame, STAGES, stageOf } from './stages.ts'

interface ProfileNode {
  readonly id: number
  readonly callFrame: Frame
  readonly children?: readonly number[]
}

export interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  /** Microseconds between samples; the first since `startTime`, which counts from the start of the machine. */
  readonly timeDeltas: readonly number[]
  readonly startTime: number
}

export interface Period {
  readonly fromUs: number
  readonly toUs: number
}

/** A call with all its callees; `us` includes them. */
export interface Call {
  readonly name: string
  us: number
  readonly stage: string
  readonly calls: Map<string, Call>
}

export interface Times {
  readonly byStage: ReadonlyMap<string, number>
  /** Without what they called. */
  readonly byFunction: ReadonlyMap<string, number>
  readonly root: Call
}

const IDLE = new Set(['(idle)', '(program)'])

/** Only samples of the period count, because a start takes longer than many requests. */
export function readProfile(profile: Profile, { fromUs, toUs }: Period): Times {
  const { nodes, samples, timeDeltas } = profile
  let now = profile.startTime
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((one) => [one, id])),
  )
  const root: Call = { name: 'all', us: 0, stage: 'runtime', calls: new Map() }
  const byStage = new Map<string, number>(STAGES.map((stage) => [stage, 0]))
  const byFunction = new Map<string, number>()
  for (const [index, sample] of samples.entries()) {
    const us = timeDeltas[index] ?? 0
    now += us
    if (now < fromUs || now > toUs) continue
    const stack: Frame[] = []
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      const node = byId.get(id)
      if (node !== undefined) stack.unshift(node.callFrame)
    }
    const top = stack.at(-1)
    if (top === undefined || IDLE.has(top.functionName)) continue
    byFunction.set(nameOf(top), (byFunction.get(nameOf(top)) ?? 0) + us)
    const stage = stack.map(stageOf).findLast((one) => one !== undefined) ?? 'runtime'
    byStage.set(stage, (byStage.get(stage) ?? 0) + us)
    add(root, stack.slice(1), us)
  }
  return { byStage, byFunction, root }
}

function add(root: Call, stack: readonly Frame[], us: number): void {
  let call = root
  call.us += us
  for (const frame of stack) {
    const name = nameOf(frame)
    let next = call.calls.get(name)
    if (next === undefined) {
      next = { name, us: 0, stage: stageOf(frame) ?? call.stage, calls: new Map() }
      call.calls.set(name, next)
    }
    next.us += us
    call = next
  }
}

function nameOf({ functionName, url, lineNumber }: Frame): string {
  const file = url.split('/').slice(-2).join('/')
  const place = file === '' ? '' : ` ${file}:${lineNumber + 1}`
  return `${functionName || '(anonymous)'}${place}`
}
