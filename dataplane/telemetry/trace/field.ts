/** The declaration of a field has its type, its meaning, and each place that shows it. */

/** `ms` has a tenth of a millisecond in the log; `part` is any other type, which each place shows differently. */
export type FieldKind = 'text' | 'number' | 'ms' | 'flag' | 'part'

/** The line of the log, the span of the request, the log record of OpenTelemetry, the event of usage. */
export type ShownPlace = 'log' | 'span' | 'record' | 'event'

export interface FieldFacts {
  /** Its meaning, for the table of the docs. */
  readonly what: string
  readonly in?: readonly ShownPlace[]
  /** Its name in the log, if it differs. */
  readonly logged?: string
  /** Its name in OpenTelemetry; `gw.NAME` if absent. */
  readonly attribute?: string
  /** Its label in a line of `gw trace get`. */
  readonly tree?: string
  /** Its label in a decision of the console. */
  readonly console?: string
  /** The request has it from the start. */
  readonly given?: true
  /** Its value before a stage sets it. undefined if absent. */
  readonly start?: string | number | readonly never[]
  /** Old writers omit it. */
  readonly optional?: true
}

declare const TYPE: unique symbol

export type Field<T, S extends FieldFacts = FieldFacts, K extends FieldKind = FieldKind> = S & {
  readonly kind: K
  /** Only the compiler reads it. */
  readonly [TYPE]?: T
}

type DeclaredFields = Readonly<Record<string, Field<unknown>>>

type TypeOf<F> = F extends { readonly [TYPE]?: infer T } ? T : never

/** A record with these fields. */
export type RecordOf<F extends DeclaredFields> = {
  readonly [N in keyof F as F[N] extends { given: true } ? N : never]: TypeOf<F[N]>
} & {
  -readonly [N in keyof F as F[N] extends { given: true } | { optional: true }
    ? never
    : N]: F[N] extends {
    start: unknown
  }
    ? TypeOf<F[N]>
    : TypeOf<F[N]> | undefined
} & {
  -readonly [N in keyof F as F[N] extends { optional: true } ? N : never]?: TypeOf<F[N]> | undefined
}

export function text<const S extends FieldFacts>(shown: S): Field<string, S, 'text'> {
  return { kind: 'text', ...shown }
}

export function number<const S extends FieldFacts>(shown: S): Field<number, S, 'number'> {
  return { kind: 'number', ...shown }
}

export function ms<const S extends FieldFacts>(shown: S): Field<number, S, 'ms'> {
  return { kind: 'ms', ...shown }
}

export function flag<const S extends FieldFacts>(shown: S): Field<boolean, S, 'flag'> {
  return { kind: 'flag', ...shown }
}

export function part<T>() {
  return <const S extends FieldFacts>(shown: S): Field<T, S, 'part'> => ({ kind: 'part', ...shown })
}

/** The names of the fields that one place shows. */
export type NamesIn<P extends ShownPlace, F extends DeclaredFields> = {
  readonly [N in keyof F]: F[N] extends { readonly in: readonly (infer Q)[] }
    ? P extends Q
      ? N
      : never
    : never
}[keyof F]

/** The values that one place shows, null if the record has none. */
export type ValuesIn<P extends ShownPlace, F extends DeclaredFields> = {
  readonly [N in NamesIn<P, F>]: F[N] extends { given: true } | { start: unknown }
    ? TypeOf<F[N]>
    : TypeOf<F[N]> | null
}

/** In the order of their declaration. */
export function namesIn<P extends ShownPlace, F extends DeclaredFields>(
  place: P,
  fields: F,
): NamesIn<P, F>[] {
  const names = Object.keys(fields).filter((name) => fields[name]?.in?.includes(place))
  return names as NamesIn<P, F>[]
}
