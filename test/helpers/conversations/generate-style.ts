/** Random ways in which servers cut a stream; only those with a clear meaning. */
import type { Answer, Style } from './model.ts'
import { oneOf, type Random } from './random-json.ts'

type Mutable = { -readonly [name in keyof Style]: Style[name] }

/** `isPlain`: the client reads the upstream's own events. */
export function aStyle(random: Random, { calls }: Answer, isPlain: boolean): Style {
  const style: Mutable = { seed: random(1_000_000) }
  const one = <T>(list: readonly T[]) => (random(3) === 0 ? oneOf(random, list) : undefined)
  set(style, 'usage', one(['first', 'each', 'with finish', 'absent'] as const))
  set(style, 'pieces', one(['whole'] as const))
  if (random(8) === 0) set(style, 'ending', oneOf(random, ['cut', 'broken event'] as const))
  if (isPlain) return style
  const hasIds = calls.every(({ id }) => id !== '')
  const distinct = new Set(calls.map(({ id }) => id)).size === calls.length
  set(style, 'between', one(['words', 'reasoning', 'words in the chunk'] as const))
  set(style, 'finish', one(['contradicts'] as const))
  if (calls.length > 0 && (calls.length === 1 || (hasIds && distinct)))
    set(style, 'index', one(['shared', 'absent'] as const))
  if (style.index === undefined) set(style, 'calls', one(['together', 'in turns'] as const))
  if (style.index === undefined || calls.length === 1) {
    if (hasIds) set(style, 'id', one(['late', 'repeated'] as const))
    set(style, 'name', one(['late', 'repeated'] as const))
  } else if (hasIds) set(style, 'id', one(['repeated'] as const))
  set(style, 'arguments', one(['late'] as const))
  return style
}

function set<Name extends keyof Style>(style: Mutable, name: Name, value: Style[Name] | undefined) {
  if (value !== undefined) style[name] = value as Mutable[Name]
}
