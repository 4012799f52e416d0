/** Common parameters in the wires of clients, for upstreams that get the client's bytes. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { parsedExactly, recordOf, rowOf } from '../../json/values.ts'
import { effortAmong } from '../../providers/efforts.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import { EFFORTS } from '../../wire/models/capabilities.ts'
import { BUDGETS, budgeted } from '../../wire/models/thinking-budgets.ts'

/** A member of the client's wire with its value. */
export type ClientMember = readonly [member: string, value: unknown]

interface ClientParameter {
  readonly name: string
  readonly value: unknown
  readonly request: ModelRequest
  readonly settings: Pick<UpstreamSettings, 'capabilities'>
}

type Writer = (asked: ClientParameter) => ClientMember | undefined

/** The members of a limit of tokens, by the client's wire. */
const LIMIT_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  'openai-chat': ['max_tokens', 'max_completion_tokens'],
  'openai-completions': ['max_tokens'],
  'openai-responses': ['max_output_tokens'],
  'anthropic-messages': ['max_tokens'],
}

export function limitMembersOf(wire: string): readonly string[] {
  return rowOf(LIMIT_MEMBERS, wire) ?? []
}

/** undefined if the wire has no such member. */
export function clientMember(asked: ClientParameter): ClientMember | undefined {
  return rowOf(WRITERS, asked.request.wire)?.(asked)
}

const asIs: Writer = ({ name, value }) => [name, value]

const WRITERS: Readonly<Record<string, Writer>> = {
  'openai-chat': asIs,
  'openai-completions': asIs,
  'openai-responses': inResponses,
  'anthropic-messages': inMessages,
}

const SAME_IN_RESPONSES = new Set(['temperature', 'top_p', 'service_tier'])

function inResponses({
  name,
  value,
  request,
  settings,
}: ClientParameter): ClientMember | undefined {
  if (SAME_IN_RESPONSES.has(name)) return [name, value]
  if (name === 'verbosity') return ['text', { ...memberOf(request, 'text'), verbosity: value }]
  if (name !== 'reasoning_effort') return undefined
  const { efforts = EFFORTS } = settings.capabilities
  const effort = effortAmong(value, efforts)
  return effort && ['reasoning', { ...memberOf(request, 'reasoning'), effort }]
}

function inMessages({ name, value, request, settings }: ClientParameter): ClientMember | undefined {
  switch (name) {
    case 'temperature':
      return [name, Math.min(Number(value), 1)]
    case 'top_p':
      return [name, value]
    case 'stop':
      return ['stop_sequences', [value].flat()]
    case 'reasoning_effort':
      return thinkingMember(String(value), request, settings)
    default:
      return undefined
  }
}

function thinkingMember(
  effort: string,
  request: ModelRequest,
  { capabilities }: ClientParameter['settings'],
): ClientMember | undefined {
  if (effort === 'none') return ['thinking', { type: 'disabled' }]
  if (capabilities.thinking !== 'budget')
    return ['output_config', { ...memberOf(request, 'output_config'), effort }]
  const { thinking } = budgeted(rowOf(BUDGETS, effort) ?? 0, request.maxTokens, capabilities)
  return thinking && ['thinking', thinking]
}

/** The object that the client sends; empty if it sends none. */
function memberOf({ bytes, spans }: ModelRequest, name: string): Readonly<Record<string, unknown>> {
  const span = spans.get(name)
  if (span === undefined) return {}
  return recordOf(parsedExactly(bytes.toString('utf8', span.start, span.end)))
}
