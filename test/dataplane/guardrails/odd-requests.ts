/**
 * Requests with unusual members at random places: as texts, because a name may be repeated, in another case or escaped.
 */
import fc from 'fast-check'
import type { Json } from './legal-requests.ts'

/** A value whose objects are lists of members, so that two of one name are possible. */
type Odd = string | number | boolean | null | Odd[] | { members: [string, Odd][] }

export interface Change {
  /** Chooses the object or the list. */
  readonly where: number
  readonly name: string
  readonly value: unknown
  /** Chooses the member to replace or copy. */
  readonly at: number
  readonly how: 'add' | 'replace' | 'copy' | 'case' | 'escape'
}

const NAMES = [
  ...['documents', 'chat_template', 'chat_template_kwargs', 'guided_json', 'guided_regex'],
  ...['structured_outputs', 'grammar', 'prompt', 'input', 'messages', 'content', 'text', 'name'],
  ...['description', 'title', 'context', 'summary', 'reasoning', 'thinking', 'arguments', 'role'],
  ...['type', 'tools', 'functions', 'response_format', 'prediction', 'system', 'suffix', 'user'],
  ...['id', 'tool_call_id', 'metadata', 'source', 'citations', 'annotations', 'web_search_options'],
  ...['instruction', 'refusal', 'file', 'audio', 'data', 'url', '__proto__', 'constructor', 'x y'],
]

const word = fc.nat(9_999).map((number) => `odd words ${number}`)
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { weight: 4, arbitrary: word },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(7, true, null, 'auto', 'text', 'user') },
    { weight: 1, arbitrary: fc.array(tie('any'), { maxLength: 2 }) },
    {
      weight: 2,
      arbitrary: fc.dictionary(fc.constantFrom(...NAMES), tie('any'), { maxKeys: 2 }),
    },
  ),
})).any

export const changes = fc.array(
  fc.record<Change>({
    where: fc.nat(999),
    name: fc.oneof(fc.constantFrom(...NAMES), word),
    value,
    at: fc.nat(999),
    how: fc.constantFrom('add', 'add', 'replace', 'copy', 'case', 'escape'),
  }),
  { minLength: 1, maxLength: 3 },
)

/** The text of the body with all changes. */
export function changed(body: Json, all: readonly Change[]): string {
  const odd = oddOf(body)
  const escaped = new Set<[string, Odd]>()
  for (const change of all) apply(change, odd, escaped)
  return written(odd, escaped)
}

function oddOf(value: unknown): Odd {
  if (Array.isArray(value)) return value.map(oddOf)
  if (typeof value !== 'object' || value === null) return value as Odd
  return { members: Object.entries(value).map(([name, one]) => [name, oddOf(one)]) }
}

function apply({ where, name, value, at, how }: Change, root: Odd, escaped: Set<unknown>): void {
  const places = containersOf(root)
  const place = places[where % places.length] as Odd[] | { members: [string, Odd][] }
  if (Array.isArray(place)) {
    if (how === 'replace' && place.length > 0) place[at % place.length] = oddOf(value)
    else place.push(oddOf(value))
    return
  }
  const { members } = place
  const member = members[at % Math.max(1, members.length)]
  if (member === undefined || how === 'add') members.push([name, oddOf(value)])
  else if (how === 'replace') member[1] = oddOf(value)
  else if (how === 'copy') members.push([member[0], oddOf(value)])
  else if (how === 'case') members.push([inCase(member[0], at), oddOf(value)])
  else escaped.add(member)
}

function containersOf(value: Odd): (Odd[] | { members: [string, Odd][] })[] {
  if (Array.isArray(value)) return [value, ...value.flatMap(containersOf)]
  if (typeof value !== 'object' || value === null) return []
  return [value, ...value.members.flatMap(([, one]) => containersOf(one))]
}

/** A spelling that a decoder without case may take for the name. */
function inCase(name: string, at: number): string {
  const ways = [
    name.toUpperCase(),
    name.replace('s', 'ſ'),
    name.replace('k', 'K'),
    `${name[0]?.toUpperCase()}${name.slice(1)}`,
  ]
  return ways[at % ways.length] as string
}

function written(value: Odd, escaped: ReadonlySet<unknown>): string {
  if (Array.isArray(value)) return `[${value.map((one) => written(one, escaped)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = value.members.map((member) => {
    const [name, one] = member
    const shown = escaped.has(member)
      ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${JSON.stringify(name.slice(1)).slice(1)}`
      : JSON.stringify(name)
    return `${shown}:${written(one, escaped)}`
  })
  return `{${members.join(',')}}`
}
