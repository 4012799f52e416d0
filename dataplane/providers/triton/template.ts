/** Chat templates: Triton's `generate` takes one text, so the gateway writes the conversation as the model was taught. */
import { isRecord, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatMessage } from '../../wire/inner-form.ts'
import type { ChatTemplate } from '../../wire/models/capabilities.ts'
import { unsupported } from '../../wire/unsupported.ts'

interface TemplateTurn {
  readonly role: 'system' | 'user' | 'assistant'
  readonly text: string
}

interface Template {
  /** Whether it has a turn for instructions; otherwise they go before the first words of the user. */
  readonly hasSystem: boolean
  readonly turn: (turn: TemplateTurn) => string
  /** The text that begins the answer. */
  readonly answer: string
  /** The text that ends each answer. */
  readonly end: string
  /** The marks that only the template may write. */
  readonly marks: RegExp
}

/** The tokenizer of the server adds the token that begins a text. */
const TEMPLATES: Readonly<Record<ChatTemplate, Template>> = {
  chatml: {
    hasSystem: true,
    turn: ({ role, text }) => `<|im_start|>${role}\n${text}<|im_end|>\n`,
    answer: '<|im_start|>assistant\n',
    end: '<|im_end|>',
    marks: /<\|(?:im_start|im_end|endoftext)\|>/,
  },
  llama3: {
    hasSystem: true,
    turn: ({ role, text }) => `<|start_header_id|>${role}<|end_header_id|>\n\n${text}<|eot_id|>`,
    answer: '<|start_header_id|>assistant<|end_header_id|>\n\n',
    end: '<|eot_id|>',
    marks: /<\|(?:begin_of_text|end_of_text|start_header_id|end_header_id|eot_id|eom_id)\|>/,
  },
  inst: {
    hasSystem: false,
    turn: ({ role, text }) => (role === 'assistant' ? `${text}</s>` : `[INST] ${text} [/INST]`),
    answer: '',
    end: '</s>',
    marks: /<\/?s>|\[\/?INST\]/,
  },
  gemma: {
    hasSystem: false,
    turn: ({ role, text }) =>
      `<start_of_turn>${role === 'assistant' ? 'model' : 'user'}\n${text}<end_of_turn>\n`,
    answer: '<start_of_turn>model\n',
    end: '<end_of_turn>',
    marks: /<(?:start_of_turn|end_of_turn|bos|eos)>/,
  },
}

/** The conversation as one text, and the text that ends an answer. */
export function templated(
  provider: string,
  messages: readonly ChatMessage[],
  name: ChatTemplate,
): { readonly text: string; readonly end: string } {
  const template = TEMPLATES[name]
  const said = messages.map((message, index) => turnOf(provider, message, index, template.marks))
  const turns = template.hasSystem ? said : withoutSystem(said)
  return { text: turns.map(template.turn).join('') + template.answer, end: template.end }
}

function turnOf(
  provider: string,
  message: ChatMessage,
  index: number,
  marks: RegExp,
): TemplateTurn {
  const at = `messages.${index}`
  const { role, content, tool_calls: calls, function_call: called } = message
  if (listOf(calls).length > 0 || isRecord(called) || role === 'tool' || role === 'function')
    throw unsupported(provider, at, 'send a conversation without tools')
  const parts = listOf(content).map(recordOf)
  if (parts.some(({ type }) => type !== 'text'))
    throw unsupported(provider, `${at}.content`, 'send parts of type text')
  const text = textOf(content) ?? parts.map((part) => textOf(part.text) ?? '').join('\n')
  // They would begin a turn in another role.
  if (marks.test(text))
    throw unsupported(provider, `${at}.content`, 'leave the marks of the chat template out')
  return { role: role === 'assistant' || role === 'user' ? role : 'system', text }
}

/** Puts instructions before the next words of the user, and joins turns of one role. */
function withoutSystem(turns: readonly TemplateTurn[]): TemplateTurn[] {
  const joined: TemplateTurn[] = []
  for (const { role, text } of turns) {
    const own = role === 'system' ? 'user' : role
    const before = joined.at(-1)
    if (before?.role !== own) joined.push({ role: own, text })
    else joined[joined.length - 1] = { role: own, text: `${before.text}\n\n${text}` }
  }
  return joined
}
