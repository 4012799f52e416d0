/** Cells of a row: as JSON has them, or as the texts that Postgres writes. */
import { parseJson } from '../../../dataplane/json/parse.ts'

export class CellError extends Error {}

function isEmpty(cell: unknown): boolean {
  return cell == null || cell === '' || cell === '\\N' || cell === 'null'
}

/** Whether a cell says anything: not empty, an empty list, or an empty object. */
export function isSaid(cell: unknown): boolean {
  if (isEmpty(cell) || cell === false || cell === 'f' || cell === 'false') return false
  const text = typeof cell === 'string' ? cell : (JSON.stringify(cell) ?? '')
  return !['{}', '[]', '""', '0', '0.0'].includes(text.trim())
}

export function textIn(cell: unknown): string | undefined {
  if (isEmpty(cell)) return undefined
  if (typeof cell !== 'string') throw new CellError('must be a text')
  if (cell.length > 1024) throw new CellError('is longer than 1024 characters')
  return cell
}

/** A number that is not negative. */
export function amountIn(cell: unknown): number | undefined {
  if (isEmpty(cell)) return undefined
  const isNumber =
    typeof cell === 'number' ||
    (typeof cell === 'string' && /^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(cell))
  const amount = isNumber ? Number(cell) : Number.NaN
  if (!Number.isFinite(amount) || amount < 0) throw new CellError('must be a number of at least 0')
  return amount
}

/** A limit: 0 and less mean that nothing is allowed, which a limit of ours cannot express. */
export function countIn(cell: unknown, most: number): number | undefined {
  const amount = amountIn(cell)
  if (amount === undefined) return undefined
  if (amount < 1) throw new CellError('must be at least 1; revoke the key to allow nothing')
  return Math.min(most, Math.floor(amount))
}

export function flagIn(cell: unknown): boolean {
  if (isEmpty(cell)) return false
  if (cell === true || cell === 't' || cell === 'true' || cell === 'True') return true
  if (cell === false || cell === 'f' || cell === 'false' || cell === 'False') return false
  throw new CellError('must be true or false')
}

const MOMENT =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/

/** A moment without a zone is in UTC, as the database has it. */
export function momentIn(cell: unknown): string | undefined {
  const text = textIn(cell)
  if (text === undefined) return undefined
  const [, day, time = '00:00', zone = 'Z'] = MOMENT.exec(text.trim()) ?? []
  const full = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
  const at = day === undefined ? Number.NaN : Date.parse(`${day}T${time}${full}`)
  const isReal =
    !Number.isNaN(at) && new Date(Date.parse(`${day}T00:00Z`)).toISOString().startsWith(day ?? '-')
  if (!isReal) throw new CellError('must be a time such as 2027-01-31 00:00:00')
  return new Date(at).toISOString()
}

const LIST_MAX = 1024

/** A list of texts: of JSON, or an array of Postgres such as `{gpt-4o,"a b"}`. */
export function textsIn(cell: unknown): string[] {
  if (isEmpty(cell)) return []
  const list = typeof cell === 'string' ? listIn(cell.trim()) : cell
  if (!Array.isArray(list) || list.some((one) => typeof one !== 'string'))
    throw new CellError('must be a list of texts')
  if (list.length > LIST_MAX) throw new CellError(`has more than ${LIST_MAX} entries`)
  return list
}

function listIn(text: string): unknown {
  if (text.startsWith('[')) return jsonIn(text)
  if (!/^\{.*\}$/s.test(text)) return [text]
  const body = text.slice(1, -1)
  const entries = body === '' ? [] : (body.match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [])
  return entries.map((one) =>
    one.startsWith('"') ? one.slice(1, -1).replaceAll(/\\(.)/g, '$1') : one.trim(),
  )
}

/** An object of JSON, also as its text. */
export function jsonIn(cell: unknown): unknown {
  if (isEmpty(cell) || typeof cell !== 'string') return cell ?? undefined
  try {
    return parseJson(cell)
  } catch {
    throw new CellError('must be JSON')
  }
}
