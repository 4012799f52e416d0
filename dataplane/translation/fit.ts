/** Adapts the calls of a request to its upstream: tool names that it accepts, and unique ids. */
import { scanMembers } from '../json/members.ts'
import { listOf, parsed, recordOf, textOf } from '../json/values.ts'
import type { ChatRequest, ModelRequest } from '../wire/inner-form.ts'
import type { Capabilities } from '../wire/models/capabilities.ts'
import type { CallRules } from '../wire/provider-facts.ts'
import { DistinctIds, hasOddIds, type IdForm } from './distinct-ids.ts'
import { keepNames } from './names.ts'
import { isFree, NAME_OR_ID } from './places.ts'
import { shortNames } from './short-names.ts'
import { changedStrings, changedStringsOf, type StringChange } from './strings.ts'

/** The names of a server whose own rule is unknown. */
const NAME = /^/

/** The members of all wires that contain names and ids. */
const MEMBERS: ReadonlySet<unknown> = new Set([
  'function_call',
  'functions',
  'input',
  'messages',
  'tool_choice',
  'tools',
])

/** The same request if nothing changes. `passes`: the upstream gets the client's bytes. */
export function fitted(
  request: ModelRequest,
  known: CallRules | undefined,
  capabilities: Capabilities,
  passes: boolean,
): ModelRequest {
  const rules = rulesOf(known, capabilities)
  if (rules === undefined || request.operation !== 'chat') return request
  const { body } = request
  const names = shortNames(body, rules)
  const { id, idMax } = rules
  const ids = id && { id, ...(idMax !== undefined && { idMax }) }
  const hasOdd = ids !== undefined && hasOddIds(body, ids)
  if (names === undefined && !hasOdd) return request
  if (names !== undefined) keepNames(request, new Map([...names].map(([own, made]) => [made, own])))
  const form = hasOdd ? ids : undefined
  const inner = changeOf(names, form, () => false)
  const fit = { ...request, body: changedStringsOf(body, NAME_OR_ID, inner) }
  return passes ? { ...fit, ...passing(request, names, form) } : fit
}

/** Known lengths of the model apply first. */
function rulesOf(
  rules: CallRules | undefined,
  { nameMax, idMax }: Capabilities,
): CallRules | undefined {
  if (nameMax === undefined && idMax === undefined) return rules
  const { name = NAME, nameMax: names = Number.POSITIVE_INFINITY } = rules ?? {}
  const ids = idMax === undefined ? {} : { id: rules?.id ?? /^/, idMax }
  return { ...rules, name, nameMax: nameMax ?? names, ...ids }
}

/** The client's own bytes. */
function passing(
  request: ChatRequest,
  names: ReadonlyMap<string, string> | undefined,
  form: IdForm | undefined,
): Pick<ChatRequest, 'bytes' | 'spans' | 'edits'> {
  const { spans: before, edits } = request
  const span = before.get('input')
  const items = span && listOf(parsed(request.bytes.toString('utf8', span.start, span.end)))
  const isResult = (item: number) => /output$/.test(textOf(recordOf(items?.[item]).type) ?? '')
  const bytes = changedStrings(request.bytes, NAME_OR_ID, changeOf(names, form, isResult))
  const spans = scanMembers(bytes)
  if (edits === undefined || names === undefined) return { bytes, spans, ...(edits && { edits }) }
  return {
    bytes,
    spans,
    edits: new Map([...edits].map(([member, text]) => [member, renamed(member, text, names)])),
  }
}

function renamed(
  member: string,
  text: string | undefined,
  names: ReadonlyMap<string, string>,
): string | undefined {
  if (text === undefined || !MEMBERS.has(member)) return text
  const change: StringChange = (value, path) => (isFree(path) ? undefined : names.get(value))
  return changedStrings(Buffer.from(text), NAME_OR_ID, change).toString()
}

/** `isResult` distinguishes the items of a Responses request, whose calls and results use the same member. */
function changeOf(
  names: ReadonlyMap<string, string> | undefined,
  form: IdForm | undefined,
  isResult: (item: number) => boolean,
): StringChange {
  const ids = form && new DistinctIds(form)
  return (value, path) => {
    if (!MEMBERS.has(path[0]) || isFree(path)) return undefined
    const member = path.at(-1)
    if (member === 'name') return names?.get(value)
    if (ids === undefined) return undefined
    if (member === 'tool_call_id' || member === 'tool_use_id') return ids.ofResult(value)
    if (member === 'call_id')
      return isResult(Number(path[1])) ? ids.ofResult(value) : ids.ofCall(value)
    return isCall(path) ? ids.ofCall(value) : undefined
  }
}

/** The `id` of a call in a message; items of Responses have separate ids. */
function isCall(path: readonly unknown[]): boolean {
  if (path.length !== 5 || path[0] !== 'messages') return false
  return path[2] === 'tool_calls' || path[2] === 'content'
}
