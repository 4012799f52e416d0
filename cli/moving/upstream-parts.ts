/** Parts of upstreams that every other gateway has: credentials, addresses, headers, prices, times. */
import { ownReference } from '../../dataplane/config/document/foreign-references.ts'
import { isReference } from '../../dataplane/config/document/reference-syntax.ts'
import { entryOf } from '../pricing/list.ts'
import { type Draft, type Fields, put } from './draft.ts'
import type { Field } from './field.ts'
import type { Service } from './providers.ts'

const REFERENCE = 'the reference in the form of gw'
/** Words that people write where a server wants any key. */
const PLACEHOLDER = /^(none|null|empty|fake|dummy|anything|not-?needed|no-?key|sk-no-key-required)/i

export interface KeyWords {
  /** The variable that gets a key which the source spells out. */
  readonly variable: string
  readonly service?: Service
  readonly member?: string
}

/** A credential as a reference. A value in the file never leaves it. */
export function putKey(field: Field, owner: Fields, { variable, service, member }: KeyWords): void {
  const name = member ?? 'api_key'
  const { text } = field
  if (text === undefined) return
  const own = ownReference(text)
  if (own !== undefined) {
    put(field, owner, name, { value: own, note: REFERENCE })
    return
  }
  if (isReference(text)) {
    put(field, owner, name, { value: text })
    return
  }
  if (service?.isOwn === true && PLACEHOLDER.test(text)) {
    field.changed('left out, because it is no key', owner, 'name')
    return
  }
  const note = `the file has the value itself: put it into the variable ${variable}`
  put(field, owner, name, { value: `\${env:${variable}}`, note })
}

/** The key that the other gateway reads from a variable without being asked. */
export function putUsualKey(draft: Draft, owner: Fields, { variable }: Service): void {
  if (variable === undefined || owner.api_key !== undefined) return
  owner.api_key = `\${env:${variable}}`
  const text = 'The other gateway reads this variable by itself.'
  draft.remarks.push({ owner, member: 'api_key', text })
}

/** A text that may be a reference. */
export function putText(field: Field, owner: Fields, member: string, note?: string): void {
  const { text } = field
  if (text === undefined) return
  const own = ownReference(text)
  put(
    field,
    owner,
    member,
    own === undefined ? { value: text, note } : { value: own, note: REFERENCE },
  )
}

const OPERATION = /\/(chat\/completions|completions|messages|embeddings|rerank|models)\/?$/

/** The base URL, without what the gateway appends. */
export function putEndpoint(field: Field, owner: Fields, member = 'endpoint'): void {
  const { text } = field
  if (text === undefined) return
  if (ownReference(text) !== undefined || text.includes('${')) {
    putText(field, owner, member)
    return
  }
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
    field.hasNoPlace('it is no URL that gw can call')
    return
  }
  const path = url.pathname.replace(OPERATION, '').replace(/\/+$/, '')
  const value = `${url.origin}${path}`
  const isSame = value === text || `${value}/` === text
  put(field, owner, member, { value, note: isSame ? undefined : 'without what gw appends' })
}

/** Whole seconds, at least one. */
export function putSeconds(
  field: Field,
  owner: Fields,
  member: string,
  { factor = 1, note, most = 86_400 }: { factor?: number; note?: string; most?: number } = {},
): void {
  const seconds = (field.number ?? Number.NaN) * factor
  if (!(seconds > 0)) {
    field.hasNoPlace('it is no number of seconds')
    return
  }
  const value = Math.min(most, Math.max(1, Math.ceil(seconds)))
  const rounded = value === seconds ? undefined : `${value} whole seconds`
  const notes = [note, rounded].filter((one) => one !== undefined)
  put(field, owner, member, { value, note: notes.length === 0 ? undefined : notes.join(', ') })
}

/** A whole number within bounds. */
export function putCount(
  field: Field,
  owner: Fields,
  member: string,
  { most, note }: { readonly most: number; readonly note?: string | undefined },
): boolean {
  const { number } = field
  if (number === undefined || number < 1) {
    field.hasNoPlace('it is no number of at least 1')
    return false
  }
  const value = Math.min(most, Math.floor(number))
  put(field, owner, member, { value, note: value === number ? note : `${value} at most` })
  return true
}

const CREDENTIALS = /^(authorization|proxy-authorization|cookie|.*(key|token|secret).*)$/i

/** Headers of each request to an upstream; literal credentials become references. */
export function putHeaders(field: Field, owner: Fields): void {
  const headers: Fields = {}
  for (const one of field.members) {
    const { text, name } = one
    if (text === undefined) one.hasNoPlace('a header without a text')
    else if (CREDENTIALS.test(name) && !text.includes('${')) {
      const variable = `${String(owner.name)}_${name}`
        .replaceAll(/[^A-Za-z0-9]+/g, '_')
        .toUpperCase()
      putKey(one, headers, { variable, member: name })
    } else putText(one, headers, name)
  }
  if (Object.keys(headers).length > 0) owner.headers = headers
}

/** The fields of `pricing[]` in LiteLLM's names. */
const PRICE = /_cost_per_token|_token_cost|^input_cost_per_query$/

export function priceFields(...owners: readonly Field[]): Field[] {
  return owners.flatMap(({ members }) => members.filter(({ name }) => PRICE.test(name)))
}

/** The price of a model, from fields in the form of the public price list. */
export function putPrice(
  draft: Draft,
  fields: readonly Field[],
  model: string,
  mode?: string,
): void {
  const priced = fields.filter(({ exists }) => exists)
  for (const field of fields.filter(({ exists }) => !exists)) field.hasNoPlace('it is empty')
  if (priced.length === 0) return
  const entry = entryOf({
    ...(mode === undefined ? {} : { mode }),
    ...Object.fromEntries(priced.map((field) => [field.name, field.number ?? field.value])),
  })
  const lose = (why: string) => {
    for (const field of priced) field.hasNoPlace(why)
  }
  if ('fault' in entry) {
    lose(`no price: ${entry.fault}`)
    return
  }
  const tiers = entry.tiers.map(({ above, prices }) => ({ above_input_tokens: above, ...prices }))
  const row = { model, ...entry.prices, ...(tiers.length === 0 ? {} : { tiers }) }
  const before = draft.pricing.find((one) => one.model === model)
  if (before !== undefined && JSON.stringify(before) !== JSON.stringify(row)) {
    lose('gw has one price for a model, and another deployment has set it')
    return
  }
  if (before === undefined) draft.pricing.push(row)
  const known = /^(input|output)_cost_per_token|_token_cost|output_cost_per_reasoning|_per_query$/
  for (const field of priced) {
    if (!known.test(field.name) || /_(batches|priority|flex|audio)/.test(field.name))
      field.hasNoPlace('gw has no such price')
    else field.changed('USD per million tokens', before ?? row, 'model')
  }
}
