/** Writes a whole answer as a response. */
import type { Json } from '../../json/values.ts'
import type { ChatAnswer, ChatChoice, ChatRequest, Sent, Usage } from '../../wire/inner-form.ts'
import { estimated } from './estimate.ts'
import {
  callItem,
  callItemId,
  endOf,
  messageItem,
  pictureItem,
  reasoningItem,
  refusalPart,
  textPart,
  usageOf,
} from './output.ts'
import { mintedId, type Session, sessionOf } from './session.ts'

export function writeAnswer(
  { choices }: ChatAnswer,
  usage: Usage | undefined,
  request: Sent<ChatRequest>,
): object {
  const session = sessionOf(request)
  const [choice] = choices
  const { status, details } = endOf(choice?.finish ?? 'stop')
  const counted = usageOf(usage ?? estimated(request, choice?.text.length ?? 0))
  const output = choice === undefined ? [] : itemsOf(choice, session)
  const members = { output, usage: counted, incomplete_details: details }
  return session.response(status, members)
}

function itemsOf(
  { text, reasoning, refusal, pictures = [], calls, finish }: ChatChoice,
  session: Session,
): Json[] {
  const { status } = endOf(finish)
  const said = [
    ...(text === '' ? [] : [textPart(text)]),
    ...(refusal === undefined ? [] : [refusalPart(refusal)]),
  ]
  return [
    ...(reasoning === undefined ? [] : [reasoningItem(mintedId('rs'), reasoning)]),
    ...(said.length === 0 ? [] : [messageItem(mintedId('msg'), said, status)]),
    ...pictures.map((one) => pictureItem(mintedId('ig'), one)),
    ...calls.map((call) => {
      const tool = session.tools.clientTool(call.name)
      const named = call.id === '' ? { ...call, id: mintedId('call') } : call
      return callItem({ id: callItemId(tool), call: named }, tool, status)
    }),
  ]
}
