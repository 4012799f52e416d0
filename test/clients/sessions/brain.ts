/** Chooses the model's answer from the content of a request. */
import type { Answer, Call } from '../../helpers/conversations/model.ts'
import type { Seen, SeenCall } from '../../helpers/conversations/upstream/seen.ts'
import { type Deed, doneWith, plan, SUMMARY, TASKS, type Task } from './steps.ts'

/** The names of a client's tools, and the arguments of an act in their form. */
export type Toolbox = (deed: Deed) => { readonly name: string; readonly args: object }

/** The data that the model has about one client. */
export interface Script {
  /** undefined: the client offers no tools. */
  readonly toolbox?: Toolbox
  /** Text in place of calls. */
  readonly words?: Readonly<Partial<Record<Task, string>>>
}

export type Choice =
  /** Words without an end. */
  | { readonly kind: 'endless'; readonly task: Task }
  /** The request asks for a summary of the session. */
  | { readonly kind: 'summary'; readonly task?: Task; readonly answer: Answer }
  /** A side request of the agent, such as one for the session's title. */
  | { readonly kind: 'aside'; readonly task?: Task; readonly answer: Answer }
  | { readonly kind: 'main'; readonly task: Task; readonly answer: Answer }

/** Our drivers and most agents put it after the session; aider and opencode put it before. */
const WANTS_SUMMARY = /write a summary|create a detailed summary|checkpoint compaction/i
const WANTS_SUMMARY_FIRST = /summarize this partial conversation|context summarization agent/

/** `made`: the number of calls so far, so that their ids differ. */
export function choose(seen: Seen, { toolbox, words }: Script, root: string, made: number): Choice {
  const at = seen.user.lastIndexOf('gw:')
  const task = TASKS.find((one) => seen.user.startsWith(one, at + 3))
  const wantsSummary =
    WANTS_SUMMARY.test(seen.user.slice(at)) || WANTS_SUMMARY_FIRST.test(seen.system)
  if (task === undefined || wantsSummary)
    return { kind: 'summary', ...(task && { task }), answer: saying(SUMMARY) }
  if (toolbox !== undefined && !seen.tools.includes(toolbox({ kind: 'run', command: '' }).name))
    return { kind: 'aside', task, answer: saying('A session') }
  if (task === 'abort') return { kind: 'endless', task }
  const answers = toolbox === undefined ? [] : plan(task, root).map((deeds) => deeds.map(toolbox))
  const next = answers.find((calls) => !calls.every(isDone))
  if (next === undefined)
    return { kind: 'main', task, answer: saying((words?.[task] ?? '') + doneWith(task)) }
  const calls = next.map(
    ({ name, args }, place): Call => ({
      id: `call_gw${made + place}`,
      name,
      args: JSON.stringify(args),
    }),
  )
  return { kind: 'main', task, answer: { text: 'Next.', calls } }

  function isDone(wanted: ReturnType<Toolbox>): boolean {
    return seen.calls.some((call) => isCall(call, wanted))
  }
}

/** Agents add members to the model's calls, such as default values. */
export function isCall(call: SeenCall, { name, args }: ReturnType<Toolbox>): boolean {
  if (call.name !== name || call.result === undefined) return false
  const seen = JSON.parse(call.args) as Readonly<Record<string, unknown>>
  return Object.entries(args).every(
    ([member, value]) => JSON.stringify(seen[member]) === JSON.stringify(value),
  )
}

function saying(text: string): Answer {
  return { text, calls: [] }
}
