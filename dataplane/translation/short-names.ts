/** Shortens tool names that an upstream refuses: a long name ends in a hash, so that no two names become equal. */
import { createHash } from 'node:crypto'
import { listOf, recordOf, textOf } from '../json/values.ts'
import type { ChatBody } from '../wire/inner-form.ts'
import type { CallRules } from '../wire/provider-facts.ts'

const HASH_LENGTH = 12

/** The upstream's names by the client's; undefined if it accepts all of them. */
export function shortNames(
  { tools, functions, messages }: ChatBody,
  rules: CallRules,
): Map<string, string> | undefined {
  let made: Map<string, string> | undefined
  const note = (value: unknown) => {
    const name = textOf(value)
    if (name === undefined || takesName(rules, name)) return
    made ??= new Map()
    made.set(name, shortName(name, rules))
  }
  for (const tool of listOf(tools)) note(calledIn(tool).name)
  for (const called of listOf(functions)) note(recordOf(called).name)
  for (const message of messages)
    for (const call of listOf(message.tool_calls)) note(calledIn(call).name)
  return made
}

function calledIn(tool: unknown) {
  const { function: called, custom } = recordOf(tool)
  return recordOf(called ?? custom)
}

/** The result depends only on the name, so it is the same in each turn. */
function shortName(name: string, rules: CallRules): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH)
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_')
  const short = `${plain.slice(0, rules.nameMax - HASH_LENGTH - 2)}_${hash}`
  return rules.name.test(short) ? short : `_${short}`
}

function takesName({ name: form, nameMax }: CallRules, name: string): boolean {
  return name.length <= nameMax && form.test(name)
}
