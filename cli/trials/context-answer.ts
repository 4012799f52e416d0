/** The context of a request as the admin API reports it: counts, the room in the window, passages. */
import { z } from 'zod'
import { printLine } from '../printing/output.ts'
import { printFacts, printTable } from '../printing/tables/table.ts'

const Count = z.number().nullish()

export const ContextAnswer = z.looseObject({
  request_id: z.string(),
  route: z.string(),
  upstream: z.string(),
  status: z.number(),
  code: z.string().nullish(),
  prompt: z.looseObject({
    tokens: Count,
    counted: z.string().nullish(),
    decided_by: z.string().nullish(),
  }),
  max_tokens: Count,
  window: Count,
  reserved: Count,
  room: Count,
  added: z.number(),
  used: z.looseObject({ prompt_tokens: Count, completion_tokens: Count }),
  searches: z.array(z.looseObject({ name: z.string(), store: z.string(), outcome: z.string() })),
  passages: z.array(
    z.looseObject({
      store: z.string(),
      id: z.string(),
      score: z.number(),
      tokens: z.number(),
      kept: z.boolean(),
      reason: z.string().nullish(),
      text: z.string().nullish(),
    }),
  ),
  texts: z
    .looseObject({
      messages: z.array(
        z.looseObject({ role: z.string(), text: z.string(), cut: z.boolean().nullish() }),
      ),
      left_out: z.number(),
    })
    .nullish(),
})

type ContextAnswer = z.output<typeof ContextAnswer>

export function printContext(answer: ContextAnswer): void {
  const { window, reserved, used, searches, passages } = answer
  const facts: [string, string][] = [
    [
      'request',
      [answer.request_id, answer.status, ...(answer.code ? [answer.code] : [])].join(', '),
    ],
    ['route', `${answer.route}, upstream ${answer.upstream}`],
    ['prompt', countedText(answer)],
    ['max_tokens', String(answer.max_tokens ?? 'not given')],
    ['window', windowText(window, reserved)],
    ['passages', passagesText(answer)],
    ['used', `${used.prompt_tokens ?? '-'} prompt, ${used.completion_tokens ?? '-'} completion`],
  ]
  printFacts(facts)
  for (const { name, store, outcome } of searches)
    printLine(`searched    ${name} in ${store}: ${outcome}`)
  if (passages.length > 0) printPassages(passages)
  printTexts(answer)
}

function printPassages(passages: ContextAnswer['passages']): void {
  printLine('')
  printTable(
    ['STORE', 'PASSAGE', 'SCORE', 'TOKENS', 'KEPT', 'WHY'],
    passages.map((one) => [
      one.store,
      one.id,
      one.score.toFixed(3),
      one.tokens,
      one.kept ? 'yes' : 'no',
      one.reason ?? '',
    ]),
  )
}

/** Clients and stores wrote these texts, so their characters must not control a terminal. */
const STEERING = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu

function printTexts({ texts, passages }: ContextAnswer): void {
  if (texts === undefined || texts === null) {
    printLine('texts       not kept; routes[].trace.keep_texts keeps them')
    return
  }
  if (texts.left_out > 0) printLine(`\n${texts.left_out} texts before these were not kept`)
  for (const { role, text, cut } of texts.messages)
    printQuoted(`${role}${cut ? ', cut' : ''}`, text)
  for (const { store, id, kept, text } of passages) {
    // The texts of kept passages are part of a message.
    if (!kept && typeof text === 'string') printQuoted(`passage ${id} of ${store}, left out`, text)
  }
}

function printQuoted(title: string, text: string): void {
  printLine(`\n${title.replace(STEERING, ' ')}:`)
  for (const line of text.replace(STEERING, ' ').split('\n')) printLine(`  ${line}`)
}

function countedText({ code, prompt }: ContextAnswer): string {
  const { tokens, counted, decided_by: by } = prompt
  if (typeof tokens === 'number') {
    const decided =
      by && by !== counted ? `, decided by ${by === 'exact' ? 'a count' : `an ${by}`}` : ''
    return `${tokens} tokens (${counted ?? 'estimate'}${decided})`
  }
  // The request may have been refused before any count.
  return code ? 'not counted' : 'not counted: no budget, and it fits every window'
}

function passagesText({ added, room, searches }: ContextAnswer): string {
  if (searches.length === 0 && typeof room !== 'number') return 'not looked up'
  return `${added} tokens of ${room ?? 'any number'} that were left for them`
}

function windowText(window: ContextAnswer['window'], reserved: ContextAnswer['reserved']): string {
  const size = window === undefined || window === null ? 'not known' : `${window} tokens`
  return reserved === undefined || reserved === null ? size : `${size}, ${reserved} for the answer`
}
