/** The guardrail webhook API of kgateway and agentgateway: the members of an action determine its kind. */
import { isRecord, listOf, recordOf, textOf } from '../json/values.ts'
import type { Protocol, Said, Verdict } from './contract.ts'

const PASS: Verdict = { kind: 'pass' }

export const webhook: Protocol = {
  write(side, texts) {
    if (side === 'input')
      return { path: '/request', body: { body: { messages: texts.map(message) } } }
    const choices = texts.map((said) => ({ message: message(said) }))
    return { path: '/response', body: { body: { choices } } }
  },

  read(side, answer, judged) {
    const { action } = recordOf(answer)
    if (!isRecord(action)) return undefined
    const { body, reason } = action
    if (body === undefined || body === null) return PASS
    if (typeof body === 'string') return { kind: 'block', message: textOf(body) ?? textOf(reason) }
    const texts = side === 'input' ? messagesOf(body) : choicesOf(body)
    return texts.length === judged && texts.every(isText) ? { kind: 'mask', texts } : undefined
  },
}

function message({ role, text }: Said): object {
  return { role, content: text }
}

function messagesOf(body: unknown): unknown[] {
  return listOf(recordOf(body).messages).map((one) => recordOf(one).content)
}

function choicesOf(body: unknown): unknown[] {
  const choices = listOf(recordOf(body).choices)
  return choices.map((one) => recordOf(recordOf(one).message).content)
}

function isText(text: unknown): text is string {
  return typeof text === 'string'
}
