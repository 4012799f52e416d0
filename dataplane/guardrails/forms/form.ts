/**
 * Forms define the allowed content of a request to a guarded route. A form is a function over a value: it shows all
 * texts in it, and refuses unknown parts.
 */
import { isRecord, rowOf } from '../../json/values.ts'

export type Path = readonly (string | number)[]
/** The path of the value that is being read; it changes while reading continues. */
type ValuePath = (string | number)[]

export interface Seen {
  /** The role of the message that contains the texts. */
  role: string
  /** Words that models read. Fixed texts cannot be changed: names, and signed texts. To keep the path, copy it. */
  text(text: string, path: Path, isFixed?: boolean): void
  /** `why` completes a sentence that begins with the member. */
  refuse(path: Path, why: string): void
}

export type Form = (value: unknown, path: ValuePath, seen: Seen) => void
type Table = Readonly<Record<string, Form>>

const NO_PLACE = 'guardrails cannot see it'
/** Not a text, so it is allowed in unknown members. */
const NAME = /^[A-Za-z_][\w-]{0,63}$/
const ID = /^[\w.:|/-]{1,128}$/
const SEALED = /^[\w+/=-]*$/
const PICTURE = /^(?:https?:\/\/[^\s]{1,8192}$|data:image\/[\w.+-]{1,40};base64,)/

/** Null is the same as absent. */
function present(form: Form): Form {
  return (value, path, seen) => {
    if (value !== null && value !== undefined) form(value, path, seen)
  }
}

function matching(is: (value: unknown) => boolean, why: string): Form {
  return present((value, path, seen) => {
    if (!is(value)) seen.refuse(path, why)
  })
}

function said(isFixed: boolean): Form {
  return present((value, path, seen) => {
    if (typeof value !== 'string') seen.refuse(path, 'must be a text')
    else if (value !== '') seen.text(value, path, isFixed)
  })
}

export const text = said(false)
/** Texts that are shown and cannot be changed. */
export const fixed = said(true)
export const flag = matching((value) => typeof value === 'boolean', 'must be true or false')
export const number = matching((value) => typeof value === 'number', 'must be a number')
export const scalar = matching(
  (value) => typeof value === 'number' || typeof value === 'boolean',
  NO_PLACE,
)
/** The id of a call or an item. */
export const id = textLike(ID, 'must be an id of at most 128 letters, digits and . : | / _ -')
/** Signed or encrypted by the upstream. */
export const sealed = textLike(SEALED, 'must be what the model has sent')
/** Guardrails do not see pictures. */
export const picture = textLike(PICTURE, 'must be an https address, or a data: URL of an image')
/** A member that the gateway does not send. */
export const unsent: Form = () => undefined
export const refused: Form = present((_value, path, seen) => seen.refuse(path, NO_PLACE))

function textLike(pattern: RegExp, why: string): Form {
  return matching((value) => typeof value === 'string' && pattern.test(value), why)
}

/** One of the API's own words. */
export function words(...known: readonly string[]): Form {
  return matching(
    (value) => typeof value === 'string' && known.includes(value),
    `must be one of ${known.join(', ')} on a route with guardrails`,
  )
}

export function list(entry: Form): Form {
  return present((value, path, seen) => {
    if (!Array.isArray(value)) seen.refuse(path, 'must be a list')
    else
      for (const [at, one] of value.entries()) {
        path.push(at)
        entry(one, path, seen)
        path.pop()
      }
  })
}

/** `rest` handles members with other names. */
export function members(table: Table, rest?: (name: string) => Form | undefined): Form {
  return present((value, path, seen) => {
    if (!isRecord(value)) {
      seen.refuse(path, 'must be an object')
      return
    }
    for (const [name, one] of Object.entries(value)) {
      const form = rowOf(table, name) ?? rest?.(name) ?? nothing(name)
      path.push(name)
      form(one, path, seen)
      path.pop()
    }
  })
}

/** Unknown members may hold nothing. */
function nothing(name: string): Form {
  if (!NAME.test(name)) return (_value, path, seen) => seen.refuse(path, NO_PLACE)
  return matching((value) => Array.isArray(value) && value.length === 0, NO_PLACE)
}

/** Parameters of runtimes: numbers, true and false. */
export function numbers(name: string): Form | undefined {
  return NAME.test(name) ? scalar : undefined
}

/** An object whose `type` determines its members; `usual` without a type. */
export function typed(table: Readonly<Record<string, Table>>, usual?: string): Form {
  const forms = Object.fromEntries(
    Object.entries(table).map(([type, own]) => [type, members({ type: words(type), ...own })]),
  )
  return (value, path, seen) => {
    const form = isRecord(value) ? rowOf(forms, value.type ?? usual) : undefined
    if (form !== undefined) form(value, path, seen)
    else if (isRecord(value) && value.type !== undefined) seen.refuse([...path, 'type'], NO_PLACE)
    else seen.refuse(path, NO_PLACE)
  }
}

/** A value that may be a string, a list or something else. */
export function either({
  string = refused,
  entries = refused,
  other = refused,
}: {
  readonly string?: Form
  readonly entries?: Form
  readonly other?: Form
}): Form {
  return present((value, path, seen) => {
    if (typeof value === 'string') string(value, path, seen)
    else if (Array.isArray(value)) entries(value, path, seen)
    else other(value, path, seen)
  })
}
