/** Random conversations of agents. */
import type { Call, Conversation, Result, Thinking, Tool, Turn } from './model.ts'
import { oneOf, type Random, someJson, someObject } from './random-json.ts'

const NAMES = [
  'Bash',
  'read_file',
  'mcp__github__create_pull_request_review',
  'mcp__claude_ai_Atlassian_Rovo__getConfluencePageInlineCommentsByVersionAndStatus12345',
  'a',
  'web-search',
]
export const TEXTS = [
  'Hi',
  'List the files.',
  '',
  ' ',
  '😀 ünïcode',
  'line\nline',
  'x'.repeat(300),
  '{"a":1}',
]
const SCHEMAS = [
  '{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}',
  '{"type":"object"}',
  '{}',
  '{"type":"object","properties":{},"additionalProperties":false}',
  '{"type":"object","properties":{"age":{"type":"integer","minimum":0,"maximum":9007199254740993}}}',
  '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"number","default":1.0},"maxItems":3}]}}}',
  '{"type":"object","properties":{"ref":{"$ref":"#/$defs/Item"}},"$defs":{"Item":{"type":"object","properties":{"id":{"type":"string","const":"x"}}}}}',
]
const FORMATS = [
  '{"type":"object","properties":{"a":{"type":"integer","minimum":0}},"required":["a"],"additionalProperties":false}',
  '{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"maxItems":3}}}',
]
const IDS = ['call_', 'toolu_01', 'chatcmpl-tool-', 'functions.Bash:', 'call_0|fc_', 'abc']

/** The features of an API's clients: others are not generated. */
export interface Habits {
  readonly model: string
  readonly effort: boolean
  readonly signed: boolean
  readonly marks: boolean
}

export function aConversation(random: Random, habits: Habits): Conversation {
  const tools = someTools(random)
  const ids = idsOf(random)
  const turns: Turn[] = [someWords(random, habits)]
  for (let left = random(4); left > 0; left--)
    turns.push(...someExchange(random, tools, ids, habits))
  const isForced = random(8) === 0
  return {
    model: habits.model,
    system: Array.from({ length: random(3) }, () => oneOf(random, TEXTS.slice(0, 2))),
    turns,
    tools,
    ...(random(2) === 0 && { maxTokens: oneOf(random, [64, 1024, 4096, 32_000]) }),
    ...(habits.effort &&
      random(3) === 0 && { effort: oneOf(random, ['low', 'medium', 'high', 'max']) }),
    ...(random(10) === 0 && { format: oneOf(random, FORMATS) }),
    ...(habits.signed && random(4) === 0 && { marks: oneOf(random, ['tools', 'system']) }),
    ...(random(6) === 0 && { user: `user_${'a1'.repeat(random(100))}` }),
    ...(tools.length > 0 && isForced && { choice: oneOf(random, ['auto', 'required', 'none']) }),
  }
}

function someTools(random: Random): Tool[] {
  const names = NAMES.slice(0, random(NAMES.length + 1))
  return names.map((name) => ({
    name,
    ...(random(3) > 0 && { description: oneOf(random, ['Runs a command.', '', ' ', '😀']) }),
    schema: oneOf(random, SCHEMAS),
  }))
}

/** Ids of one sender: with a counter over the conversation, or from 0 in each turn. */
function idsOf(random: Random): (place: number) => string {
  const head = oneOf(random, IDS)
  if (random(4) === 0) return (place) => `${head}${place}`
  let count = 0
  return () => `${head}${count++}`
}

function someWords(random: Random, { marks }: Habits): Turn {
  const texts = [oneOf(random, TEXTS.slice(0, 2))]
  for (let left = random(3) - 1; left > 0; left--) texts.push(oneOf(random, TEXTS))
  return {
    who: 'user',
    texts,
    ...(random(8) === 0 && { picture: true }),
    ...(random(4) === 0 && marks && { mark: true }),
  }
}

function someExchange(
  random: Random,
  tools: readonly Tool[],
  ids: (place: number) => string,
  habits: Habits,
): Turn[] {
  const calls = tools.length === 0 || random(4) === 0 ? [] : someCalls(random, tools, ids)
  const text = calls.length === 0 ? oneOf(random, ['Done.', 'A😀', ' x ']) : oneOf(random, TEXTS)
  const thinking = someThinking(random, habits.signed)
  const turn: Turn = { who: 'model', text, calls, ...(thinking && { thinking }) }
  if (calls.length === 0)
    return [
      turn,
      someWords(random, habits),
      ...(random(6) === 0 ? [someWords(random, habits)] : []),
    ]
  const results = calls.map(({ id }) => ({
    ...someResult(random, id),
    ...(habits.signed && random(8) === 0 && { mark: true }),
  }))
  const then = random(4) === 0 ? oneOf(random, TEXTS) : undefined
  const ordered = random(3) === 0 ? results.toReversed() : results
  return [turn, { who: 'tools', results: ordered, ...(then !== undefined && { then }) }]
}

export function someCalls(
  random: Random,
  tools: readonly Tool[],
  ids: (place: number) => string,
): Call[] {
  return Array.from({ length: 1 + random(3) }, (_, place) => ({
    id: ids(place),
    name: oneOf(random, tools).name,
    args: oneOf(random, [
      '',
      '{}',
      '{"command": "ls"}',
      someObject(random, 2),
      someObject(random, 3),
    ]),
  }))
}

export function someResult(random: Random, id: string): Result {
  return {
    id,
    text: oneOf(random, ['ok', '', ' ', 'two\nlines', someJson(random, 2), someObject(random, 3)]),
    ...(random(12) === 0 && { picture: true }),
    ...(random(8) === 0 && { isError: true }),
  }
}

function someThinking(random: Random, signed: boolean): Thinking | undefined {
  if (random(4) > 0) return undefined
  const text = oneOf(random, ['Hm.', 'I look.\nThen I list.'])
  return { text, ...(signed && random(2) === 0 && { signature: 'c2lnbmVk' }) }
}
