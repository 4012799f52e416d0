/** Settings that the schema knows and the data plane does not obey yet. A row goes when it does. */
import { isRecord } from '../../json/values.ts'
import { PROVIDER_NAMES, PROVIDERS } from '../../providers/index.ts'
import { STRATEGY_NAMES } from '../../strategies/names.ts'
import { type Finding, type Path, refuse } from './problems.ts'

const SUPPORTED_PROVIDERS = [...PROVIDERS.keys()]

const KNOWN = new Set<string>([...PROVIDER_NAMES, ...STRATEGY_NAMES])

interface Row {
  /** Fields from `gw` down; `*` stands for each entry of a list. */
  readonly field: string
  /** Without it the field is refused as such; with it only other values are. */
  readonly values?: readonly string[]
}

const NOT_SUPPORTED_YET: readonly Row[] = [
  { field: 'upstreams.*.provider', values: SUPPORTED_PROVIDERS },
]

/** Looks at the document as written: a default is not refused. */
export function refuseUnsupported(written: unknown): Finding[] {
  return NOT_SUPPORTED_YET.flatMap((row) =>
    descend(written, [], ['gw', ...row.field.split('.')]).flatMap(({ path, value }) =>
      judge(row, path, value),
    ),
  )
}

/** The values of the schema at a path that have an effect: a fix names only these. */
export function supportedAt(path: Path, values: readonly string[]): readonly string[] {
  const row = NOT_SUPPORTED_YET.find(({ field }) => isAt(field, path))
  const { values: supported } = row ?? {}
  return supported === undefined ? values : values.filter((value) => supported.includes(value))
}

function isAt(field: string, path: Path): boolean {
  const parts = ['gw', ...field.split('.')]
  if (parts.length !== path.length) return false
  return parts.every((part, index) =>
    part === '*' ? typeof path[index] === 'number' : part === path[index],
  )
}

interface Found {
  readonly path: Path
  readonly value: unknown
}

function descend(value: unknown, path: Path, rest: readonly string[]): Found[] {
  const [part, ...further] = rest
  if (part === undefined) return isEmpty(value) ? [] : [{ path, value }]
  if (part === '*') {
    const entries = Array.isArray(value) ? value : []
    return entries.flatMap((entry, index) => descend(entry, [...path, index], further))
  }
  return isRecord(value) ? descend(value[part], [...path, part], further) : []
}

function judge({ values }: Row, path: Path, value: unknown): Finding[] {
  if (values === undefined) {
    return [
      refuse(path, 'not supported yet by this release', 'Remove it; it would have no effect.'),
    ]
  }
  // A reference or a misspelling is for the schema to judge.
  if (typeof value !== 'string' || values.includes(value) || !KNOWN.has(value)) return []
  const message = `${JSON.stringify(value)} is not supported yet by this release`
  return [refuse(path, message, `Use one of: ${values.join(', ')}.`)]
}

/** Empty lists and maps change nothing; `config show --resolved` prints them as defaults. */
function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (isRecord(value)) return Object.keys(value).length === 0
  return value === undefined || value === null
}
