/** Unusual but legal JSON, as models and tools write it. */
export type Random = (bound: number) => number

export function oneOf<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)] as T
}

export const NUMBERS = [
  '0',
  '7',
  '-1',
  '2.5',
  '1.0',
  '1e2',
  '-0',
  '1234567890123456789',
  '9007199254740993',
  '-9223372036854775808',
  '18446744073709551615',
  '0.1000',
  '1E+3',
]
const STRINGS = [
  '""',
  '"a"',
  '"ls -la"',
  '"\\u00e9\\n\\t"',
  '"\\ud83d\\ude00"',
  '"😀 ünï"',
  '"{\\"a\\":1}"',
  '"1234567890123456789"',
  '" "',
  '"</tool>"',
  '"back\\\\slash \\"quote\\""',
  '"\\u2028"',
]
const NAMES = [
  'command',
  'path',
  'id',
  '10',
  '2',
  '',
  '$ref',
  '__proto__',
  'é',
  'a b',
  'type',
  'constructor',
]

export function someJson(random: Random, depth: number): string {
  const kind = random(depth > 0 ? 8 : 5)
  if (kind < 2) return oneOf(random, STRINGS)
  if (kind < 4) return oneOf(random, NUMBERS)
  if (kind === 4) return oneOf(random, ['true', 'false', 'null', '{}', '[]'])
  if (kind === 5) {
    const items = Array.from({ length: random(3) }, () => someJson(random, depth - 1))
    return `[${items.join(oneOf(random, [',', ', ']))}]`
  }
  return someObject(random, depth)
}

export function someObject(random: Random, depth: number): string {
  const names = new Set(Array.from({ length: random(4) }, () => oneOf(random, NAMES)))
  const [colon, comma] = oneOf(random, [
    [':', ','],
    [': ', ', '],
    [' :\n', ' ,\n'],
  ])
  const members = [...names].map(
    (name) => `${JSON.stringify(name)}${colon}${someJson(random, depth - 1)}`,
  )
  return `{${members.join(comma)}}`
}
