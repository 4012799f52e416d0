/**
 * The prompt cache of Anthropic by its rules: prefixes up to marks, from a minimum size on, for a time that each read
 * renews.
 */
import { createHash } from 'node:crypto'
import type { Json } from '../vendors/rules/contract.ts'

const LIVES: Readonly<Record<string, number>> = { '5m': 300_000, '1h': 3_600_000 }
/** A mark also finds a prefix that ends at one of these blocks before it. */
const LOOK_BACK = 20
const CHARACTERS_PER_TOKEN = 3.6

export interface CacheUse {
  readonly plain: number
  readonly read: number
  readonly written: number
  /** A part of the written tokens. */
  readonly hourly: number
}

interface Block {
  readonly text: string
  /** Its mark's time to live. */
  readonly ttl: string | undefined
}

interface Prefix {
  readonly hash: string
  readonly tokens: number
  readonly ttl: string | undefined
}

export class PromptCache {
  readonly #from: number
  readonly #now: () => number
  /** When each prefix expires, by its hash. */
  readonly #kept = new Map<string, number>()

  /** `now`: milliseconds of a clock that the test advances. */
  constructor(from: number, now: () => number) {
    this.#from = from
    this.#now = now
  }

  used(body: Json): CacheUse {
    const prefixes = prefixesOf(
      body.toolConfig === undefined && 'model' in body ? ofMessages(body) : ofConverse(body),
    )
    const whole = prefixes.at(-1)?.tokens ?? 0
    const marked = prefixes.filter(({ ttl, tokens }) => ttl !== undefined && tokens >= this.#from)
    const found = this.#longest(prefixes)
    const read = found?.tokens ?? 0
    let written = 0
    let hourly = 0
    for (const { hash, tokens, ttl = '5m' } of marked) {
      const fresh = Math.max(0, tokens - read - written)
      written += fresh
      if (ttl === '1h') hourly += fresh
      this.#kept.set(hash, this.#now() + (LIVES[ttl] ?? 0))
    }
    return { plain: whole - read - written, read, written, hourly }
  }

  #longest(prefixes: readonly Prefix[]): Prefix | undefined {
    const reached = new Set<Prefix>()
    for (const [at, { ttl }] of prefixes.entries())
      if (ttl !== undefined)
        for (const one of prefixes.slice(Math.max(0, at - LOOK_BACK), at + 1)) reached.add(one)
    return [...reached].findLast(({ hash }) => (this.#kept.get(hash) ?? 0) > this.#now())
  }
}

function prefixesOf(blocks: readonly Block[]): Prefix[] {
  let hash = ''
  let characters = 0
  return blocks.map(({ text, ttl }) => {
    hash = createHash('sha256').update(hash).update(text).digest('base64url')
    characters += text.length
    return { hash, tokens: Math.round(characters / CHARACTERS_PER_TOKEN), ttl }
  })
}

function ofMessages({ tools = [], system = [], messages }: Json): Block[] {
  const one = (lane: string) => (block: Json) => {
    const { cache_control: mark, ...rest } = block
    return { text: lane + JSON.stringify(rest), ttl: mark && (mark.ttl ?? '5m') }
  }
  const blocks = (content: Json) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return [
    ...tools.map(one('tool')),
    ...blocks(system).map(one('system')),
    ...messages.flatMap(({ role, content }: Json) => blocks(content).map(one(role))),
  ]
}

/** A point is the mark of the block before it. */
function ofConverse({ toolConfig, system = [], messages }: Json): Block[] {
  const lane = (name: string, list: Json[]) =>
    list.flatMap((block, at): Block[] => {
      if (block.cachePoint !== undefined) return []
      const point = list[at + 1]?.cachePoint
      return [{ text: name + JSON.stringify(block), ttl: point && (point.ttl ?? '5m') }]
    })
  return [
    ...lane('tool', toolConfig?.tools ?? []),
    ...lane('system', system),
    ...messages.flatMap(({ role, content }: Json) => lane(role, content)),
  ]
}
