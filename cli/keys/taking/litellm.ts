/** LiteLLM's tables of keys and teams as keys, tenants and limits. It stores the SHA-256 of a key, as `hash` does. */
import { Names, validName } from '../../moving/names.ts'
import { CellError, flagIn, isSaid, momentIn, textIn, textsIn } from './cells.ts'
import { type Limit, limitsOf } from './litellm-limits.ts'
import type { Table, TableRow } from './table.ts'

export interface TakenKey {
  readonly line: number
  readonly record: Readonly<Record<string, unknown>> & {
    readonly id: string
    readonly tenant: string
    readonly hash: string
    readonly routes: readonly string[]
  }
}

export interface Fault {
  readonly file: string
  readonly line: number
  readonly column: string
  readonly message: string
}

/** A column that says something which has no place. */
export interface LeftOut {
  readonly file: string
  readonly column: string
  readonly rows: number
  readonly firstLine: number
  readonly note: string
}

export interface TakenTable {
  readonly keys: readonly TakenKey[]
  readonly limits: readonly Limit[]
  readonly faults: readonly Fault[]
  readonly leftOut: readonly LeftOut[]
}

export interface Wishes {
  readonly teams?: Table | undefined
  /** Tenant of keys without a team. */
  readonly tenant: string
  /** The route of a name that clients send; undefined: it leads nowhere. Absent: every valid name is a route. */
  readonly routeOf?: (name: string) => string | undefined
  readonly now: number
  /** Ids that are taken already, and the hashes of their keys. */
  readonly known?: readonly { readonly id: string; readonly hash: string }[]
}

const READ = new Set(
  `token key_alias team_id team_alias models max_budget budget_duration expires rpm_limit tpm_limit max_parallel_requests
  blocked model_max_budget soft_budget key_type`.split(/\s+/),
)
/** Facts about the past of a row, or that LiteLLM derives. */
const QUIET = new Set(
  `key_name created_at updated_at created_by updated_by last_active budget_reset_at soft_budget_cooldown model_spend total_spend
  rotation_count last_rotation_at key_rotation_at budget_id members admins members_with_roles model_id
  object_permission_id`.split(/\s+/),
)
const NOTES: Readonly<Record<string, string>> = {
  spend: 'counters begin at zero; what is left of a budget without a window was taken',
  user_id: 'gw has no users; limits of end users are each: user',
  metadata: 'see tags of keys',
  aliases: 'gw has aliases for all keys',
  allowed_routes: 'a key has no list of paths: it calls all that serve its models',
  auto_rotate: 'see gw keys rotate',
  organization_id: 'a tenant has no owner',
}

export function takeKeys(table: Table, wishes: Wishes): TakenTable {
  const faults: Fault[] = []
  const teams = teamsOf(wishes.teams, faults)
  const names = { ids: new Names(), limits: new Names() }
  for (const { id } of wishes.known ?? []) names.ids.free(id)
  const lines = new Map<string, number>()
  const keys: TakenKey[] = []
  const limits: Limit[] = []
  const used = new Set<string>()
  const others: number[] = []
  for (const row of table.rows) {
    const refuse = (column: string, message: string) =>
      faults.push({ file: table.name, line: row.line, column, message })
    const read = reader(row, refuse)
    const hash = hashIn(row, refuse)
    const before = hash === undefined ? undefined : lines.get(hash)
    if (before !== undefined) refuse('token', `is that of line ${before} again`)
    if (hash === undefined || before !== undefined) continue
    lines.set(hash, row.line)
    if (callsNoModel(read('allowed_routes', textsIn) ?? [])) {
      others.push(row.line)
      continue
    }
    const alias = read('key_alias', textIn)
    const teamId = read('team_id', textIn)
    const team = teamId === undefined ? undefined : teams.get(teamId)
    const tenant = validName(team?.name ?? read('team_alias', textIn) ?? teamId ?? wishes.tenant)
    if (tenant === undefined) {
      refuse('team_id', 'gives no name of a tenant')
      continue
    }
    if (teamId !== undefined) used.add(teamId)
    const models = read('models', textsIn) ?? []
    const routes = routesOf(models, team?.models ?? [], wishes, refuse)
    const expires_at = read('expires', momentIn)
    const isBlocked = read('blocked', flagIn) === true || team?.isBlocked === true
    const revoked = isBlocked
      ? { revoked_at: new Date(wishes.now).toISOString(), reason: 'blocked in LiteLLM' }
      : {}
    const own = wishes.known?.find((one) => one.hash === hash)?.id
    const id = own ?? names.ids.free(alias ?? `key-${hash.slice(7, 15)}`)
    limits.push(...limitsOf(row, { selectors: { key: id }, name: id, names: names.limits, refuse }))
    keys.push({
      line: row.line,
      record: { id, tenant, hash, routes, ...(expires_at && { expires_at }), ...revoked },
    })
  }
  for (const [teamId, { row, name }] of teams) {
    const file = wishes.teams?.name ?? ''
    const refuse = (column: string, message: string) =>
      faults.push({ file, line: row.line, column, message })
    const own = limitsOf(row, { selectors: { tenant: name }, name, names: names.limits, refuse })
    if (used.has(teamId)) limits.push(...own)
  }
  const leftOut = [...leftOutOf(table), ...leftOutOf(wishes.teams)]
  return { keys, limits, faults, leftOut: [...notTaken(table, others), ...leftOut] }
}

/** A key with the rights of management or of reading alone: with us it would get rights that it never had. */
function callsNoModel(allowed: readonly string[]): boolean {
  const rights = ['management_routes', 'info_routes']
  return allowed.length > 0 && allowed.every((one) => rights.includes(one))
}

function notTaken({ name }: Table, lines: readonly number[]): LeftOut[] {
  const [firstLine] = lines
  if (firstLine === undefined) return []
  const note = 'such a key calls no models and was not taken: see gw keys create --scopes'
  return [{ file: name, column: 'allowed_routes', rows: lines.length, firstLine, note }]
}

type Refuse = (column: string, message: string) => void

/** Reads a cell; a fault names its column. */
function reader(row: TableRow, refuse: Refuse) {
  return <Value>(column: string, read: (cell: unknown) => Value): Value | undefined => {
    try {
      return read(row.cells[column])
    } catch (error) {
      if (!(error instanceof CellError)) throw error
      refuse(column, error.message)
      return undefined
    }
  }
}

/** Never the value: it may be a key. */
function hashIn({ cells }: TableRow, refuse: Refuse): string | undefined {
  const token = cells.token ?? cells.token_hash ?? cells.api_key
  const text = typeof token === 'string' ? token.trim().toLowerCase() : ''
  if (/^[0-9a-f]{64}$/.test(text)) return `sha256:${text}`
  if (text === '') refuse('token', 'is empty')
  else if (text.startsWith('sk-'))
    refuse('token', 'is a key, not its hash: export the table, which has hashes')
  else refuse('token', 'is no SHA-256 of 64 hexadecimal digits')
  return undefined
}

const ALL = ['*', 'all-proxy-models']

function routesOf(
  models: readonly string[],
  ofTeam: readonly string[],
  { routeOf }: Wishes,
  refuse: Refuse,
): string[] {
  const named = models.flatMap((model) => (model === 'all-team-models' ? ofTeam : [model]))
  const wanted = models.length === 0 ? ofTeam : named
  if (wanted.length === 0 || wanted.some((model) => ALL.includes(model))) return ['*']
  const routes = wanted.flatMap(
    (model) => (routeOf === undefined ? validName(model) : routeOf(model)) ?? [],
  )
  const unknown = wanted.filter((model) => routeOf !== undefined && routeOf(model) === undefined)
  if (unknown.length > 0) {
    const shown = unknown.slice(0, 3).map((model) => JSON.stringify(model))
    refuse('models', `names ${shown.join(', ')}, which is no route or alias of the configuration`)
  }
  return [...new Set(routes)]
}

interface Team {
  readonly row: TableRow
  readonly name: string
  readonly models: readonly string[]
  readonly isBlocked: boolean
}

function teamsOf(table: Table | undefined, faults: Fault[]): Map<string, Team> {
  const teams = new Map<string, Team>()
  const names = new Names()
  for (const row of table?.rows ?? []) {
    const refuse = (column: string, message: string) =>
      faults.push({ file: table?.name ?? '', line: row.line, column, message })
    const read = reader(row, refuse)
    const id = read('team_id', textIn)
    if (id === undefined || teams.has(id)) {
      refuse('team_id', id === undefined ? 'is empty' : 'is that of an earlier line again')
      continue
    }
    const name = names.free(read('team_alias', textIn) ?? id)
    const models = read('models', textsIn) ?? []
    teams.set(id, { row, name, models, isBlocked: read('blocked', flagIn) === true })
  }
  return teams
}

/** Rights that are neither those of a client nor those of a key that was not taken. */
function namesPaths(cell: unknown): boolean {
  try {
    const allowed = textsIn(cell)
    return !callsNoModel(allowed) && allowed.some((one) => one !== 'llm_api_routes')
  } catch {
    return false
  }
}

function leftOutOf(table: Table | undefined): LeftOut[] {
  const columns = new Set(table?.rows.flatMap(({ cells }) => Object.keys(cells)))
  return [...columns].flatMap((column) => {
    if (READ.has(column) || QUIET.has(column)) return []
    const isLost = column === 'allowed_routes' ? namesPaths : isSaid
    const rows = table?.rows.filter(({ cells }) => isLost(cells[column])) ?? []
    const [first] = rows
    if (table === undefined || first === undefined) return []
    const note = NOTES[column] ?? 'gw has no such setting'
    return [{ file: table.name, column, rows: rows.length, firstLine: first.line, note }]
  })
}
