/**
 * Finds the extras in a request: features with a separate price, or that name stored objects of the
 * account. An upstream gets them only if its setting `allow` names them.
 */

import { isRecord, type Json, listOf, recordOf } from '../../json/values.ts'
import type { AskedExtra, Extra } from '../../wire/extras.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { Unsupported } from '../../wire/unsupported.ts'

const isOneOf =
  (...usual: readonly unknown[]) =>
  (value: unknown) =>
    usual.includes(value) || (Array.isArray(value) && value.length === 0)

/** Members that request an extra, and their values that request nothing. */
const MEMBERS: readonly (readonly [string, Extra, (value: unknown) => boolean])[] = [
  ['container', 'code_execution', isOneOf()],
  ['inference_geo', 'inference_geo', isOneOf('global', 'not_available')],
  ['mcp_servers', 'mcp', isOneOf()],
  ['plugins', 'other_tools', isOneOf()],
  ['search_parameters', 'web_search', (value) => recordOf(value).mode === 'off'],
  ['service_tier', 'service_tier', isOneOf('auto', 'default', 'standard', 'standard_only')],
  ['speed', 'speed', isOneOf('standard')],
  ['store', 'store', isOneOf(false)],
  ['web_search_options', 'web_search', isOneOf(false)],
]
export const EXTRA_MEMBERS: readonly string[] = MEMBERS.map(([name]) => name)

/** Types of tools, by their prefix. */
const TOOLS: readonly (readonly [string, Extra])[] = [
  ['web_search', 'web_search'],
  ['browser_search', 'web_search'],
  ['live_search', 'web_search'],
  ['web_fetch', 'web_fetch'],
  ['code_execution', 'code_execution'],
  ['code_interpreter', 'code_execution'],
  ['shell', 'code_execution'],
  ['file_search', 'file_search'],
  ['collections_search', 'file_search'],
  ['image_generation', 'image_generation'],
  ['mcp', 'mcp'],
]
/** Tools that the client runs, or that cost only tokens. */
const FREE = /^(?:function$|custom$|bash_|text_editor_|computer_2|memory_|tool_search_)/

/** The extra behind a tool of this type if the upstream runs it. */
export function extraOfTool(type: unknown): Extra {
  const name = typeof type === 'string' ? type : ''
  return TOOLS.find(([begins]) => name.startsWith(begins))?.[1] ?? 'other_tools'
}

/** The extras of top-level members. */
export function extrasOf(tree: Json): AskedExtra[] {
  const asked: AskedExtra[] = []
  for (const [param, extra, asksNothing] of MEMBERS) {
    const value = tree[param]
    if (value !== undefined && value !== null && !asksNothing(value)) asked.push({ extra, param })
  }
  return asked
}

/** The extras of a list of tools. */
export function extrasOfTools(tools: unknown, placeOf: (at: number) => string): AskedExtra[] {
  const asked: AskedExtra[] = []
  for (const [at, tool] of listOf(tools).entries()) {
    const { type } = recordOf(tool)
    if (typeof type === 'string' && !FREE.test(type))
      asked.push({ extra: extraOfTool(type), param: placeOf(at) })
  }
  return asked
}

/** Files of the account in the message parts of a chat completion. */
export function filesIn(messages: readonly { readonly content?: unknown }[]): AskedExtra[] {
  const asked: AskedExtra[] = []
  for (const [at, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue
    for (const [place, part] of content.entries()) {
      const param = fileIn(part)
      if (param === undefined) continue
      asked.push({ extra: 'files', param: `messages[${at}].content[${place}].${param}` })
    }
  }
  return asked
}

function fileIn(part: unknown): string | undefined {
  if (!isRecord(part)) return undefined
  if (namesFile(part)) return 'file_id'
  const within = Object.keys(part).find((name) => namesFile(recordOf(part[name])))
  return within && `${within}.file_id`
}

function namesFile({ file_id: id }: Json): boolean {
  return id !== undefined && id !== null
}

/** Throws `Unsupported` with all extras that the upstream's settings do not allow. */
export function refuseExtras(
  { spans, extras, omitted }: Pick<ModelRequest, 'spans' | 'extras' | 'omitted'>,
  { name, extras: known, foreign }: Pick<ProviderFacts, 'name' | 'extras' | 'foreign'>,
  allow: readonly string[] | undefined,
): void {
  const refused = (extras ?? [])
    .filter(({ extra }) => known?.includes(extra) && !allow?.includes(extra))
    .map(({ param }) => param)
  if (foreign !== undefined)
    for (const member of spans.keys())
      if (foreign.includes(member) && !omitted?.has(member)) refused.push(member)
  if (refused.length === 0) return
  const names = refused.map((param) => `"${param}"`).join(', ')
  const it = refused.length > 1 ? 'them' : 'it'
  const message = `This model's upstream (${name}) does not allow ${names}; leave ${it} out.`
  throw new Unsupported(message, refused)
}
