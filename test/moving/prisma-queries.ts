/** The GraphQL that Prisma's client of Python writes, as queries of the engine's JSON protocol. */
import { isRecord } from '../../dataplane/json/values.ts'

export interface Operation {
  readonly alias: string
  readonly isRaw: boolean
  readonly body: object
}

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[A-Za-z_]\w*|[{}()[\]:,])/y

/** Reads tokens one after the other. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  peek(): string {
    const before = this.#at
    const token = this.next()
    this.#at = before
    return token
  }

  next(): string {
    TOKEN.lastIndex = this.#at
    const found = TOKEN.exec(this.#text)
    if (found === null) {
      if (this.#text.slice(this.#at).trim() === '') return ''
      throw new Error(`no GraphQL: ${this.#text.slice(this.#at, this.#at + 80)}`)
    }
    this.#at = TOKEN.lastIndex
    return found[1] ?? ''
  }

  /** Goes on if the next token is this one. */
  takes(token: string): boolean {
    if (this.peek() !== token) return false
    this.next()
    return true
  }
}

/** The names of the fields of each model that hold JSON, from the text of a schema. */
export function jsonFieldsIn(schema: string): ReadonlyMap<string, ReadonlySet<string>> {
  const models = [...schema.matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm)]
  return new Map(
    models.map(([, name = '', body = '']) => [
      name,
      new Set([...body.matchAll(/^\s*(\w+)\s+Json\b/gm)].map(([, field = '']) => field)),
    ]),
  )
}

type JsonFields = ReturnType<typeof jsonFieldsIn>

export function operationsIn(text: string, jsonFields: JsonFields): Operation[] {
  const reader = new Reader(text)
  while (reader.peek() !== '{') reader.next()
  reader.next()
  const operations: Operation[] = []
  while (!reader.takes('}')) {
    const first = reader.next()
    const name = reader.takes(':') ? reader.next() : first
    operations.push({
      alias: first,
      isRaw: /Raw$/.test(name),
      body: bodyOf(name, reader, jsonFields),
    })
  }
  return operations
}

const ACTIONS =
  /^(findUnique|findFirst|findMany|createOne|updateOne|upsertOne|deleteOne|createMany|updateMany|deleteMany|aggregate|groupBy)(\w+?)(OrThrow)?$/

function bodyOf(name: string, reader: Reader, jsonFields: JsonFields): object {
  const query = fieldOf(reader)
  if (/Raw$/.test(name)) return { action: name, query: { ...query, selection: {} } }
  const [, action = '', modelName, orThrow = ''] = ACTIONS.exec(name) ?? []
  const marked = withJson(query.arguments, jsonFields.get(modelName ?? '') ?? new Set())
  return { modelName, action: action + orThrow, query: { ...query, arguments: marked } }
}

/** GraphQL has JSON as a text; the JSON protocol wants a mark at it. */
function withJson(value: unknown, fields: ReadonlySet<string>, isJson = false): unknown {
  if (typeof value === 'string' && isJson) return { $type: 'Json', value }
  if (Array.isArray(value)) return value.map((one) => withJson(one, fields, isJson))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const isInside = isJson && ['set', 'equals', 'not'].includes(name)
      return [name, withJson(one, fields, isInside || fields.has(name))]
    }),
  )
}

/** The arguments and the selection of a field. */
function fieldOf(reader: Reader): { arguments: object; selection: Record<string, unknown> } {
  const given = reader.takes('(') ? membersUntil(')', reader) : {}
  const selection: Record<string, unknown> = {}
  if (reader.takes('{'))
    while (!reader.takes('}')) {
      const name = reader.next()
      const isNested = reader.peek() === '(' || reader.peek() === '{'
      selection[name] = isNested ? fieldOf(reader) : true
    }
  return { arguments: given, selection }
}

function membersUntil(end: string, reader: Reader): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  while (!reader.takes(end)) {
    if (reader.takes(',')) continue
    const token = reader.next()
    reader.next()
    members[token.startsWith('"') ? JSON.parse(token) : token] = valueIn(reader)
  }
  return members
}

function valueIn(reader: Reader): unknown {
  const token = reader.next()
  if (token === '{') return membersUntil('}', reader)
  if (token === '[') {
    const list: unknown[] = []
    while (!reader.takes(']')) if (!reader.takes(',')) list.push(valueIn(reader))
    return list
  }
  const isWord = /^[A-Za-z_]/.test(token) && !/^(true|false|null)$/.test(token)
  return isWord ? token : JSON.parse(token)
}
