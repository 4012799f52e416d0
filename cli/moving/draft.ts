/** The configuration that is written for a foreign one, section by section. */
import { API_VERSION, KIND } from '../../dataplane/schema/index.ts'
import type { Field } from './field.ts'
import { Names } from './names.ts'

export type Fields = Record<string, unknown>

export interface Draft {
  /** The object in a cluster, if the configuration needs one. */
  readonly metadata: Fields
  readonly gateway: Fields
  readonly upstreams: Fields[]
  readonly routes: Fields[]
  readonly aliases: Fields
  readonly api_keys: Fields[]
  readonly rate_limits: Fields
  readonly limits: Fields[]
  readonly pricing: Fields[]
  readonly telemetry: Fields
  readonly names: Readonly<Record<'upstreams' | 'routes' | 'keys' | 'limits', Names>>
  /** Facts for the reader of the file that belong to no field of the source. */
  readonly remarks: Remark[]
}

export interface Remark {
  readonly owner: object
  readonly member: string
  readonly text: string
}

export function emptyDraft(): Draft {
  return {
    metadata: {},
    gateway: {},
    upstreams: [],
    routes: [],
    aliases: {},
    api_keys: [],
    rate_limits: {},
    limits: [],
    pricing: [],
    telemetry: {},
    names: { upstreams: new Names(), routes: new Names(), keys: new Names(), limits: new Names() },
    remarks: [],
  }
}

/** Sets a member from a field of the source; `note` says what changed, if anything did. */
export function put(
  field: Field,
  owner: Fields,
  member: string,
  { value = field.value, note }: { readonly value?: unknown; readonly note?: string | undefined },
): void {
  owner[member] = value
  if (note === undefined) field.kept(owner, member)
  else field.changed(note, owner, member)
}

/** Higher than any client needs: the other gateway limits what its file says, and nothing else. */
const UNLIMITED = { requests_per_minute: 1_000_000, burst: 1_000_000, concurrent_requests: 100_000 }

/** The whole document; empty sections are left out. */
export function documentOf(draft: Draft): Fields {
  const { names: _, remarks, metadata, ...sections } = draft
  if (sections.rate_limits.default === undefined) {
    const limits: Fields = { ...UNLIMITED }
    sections.rate_limits.default = limits
    const text = 'The other gateway limits no tenant by default. Lower these to protect yours.'
    remarks.push({ owner: sections.rate_limits, member: 'default', text })
  }
  const filled = Object.entries(sections).filter(([, section]) =>
    Array.isArray(section) ? section.length > 0 : Object.keys(section).length > 0,
  )
  const head = Object.keys(metadata).length === 0 ? {} : { metadata }
  return { apiVersion: API_VERSION, kind: KIND, ...head, gw: Object.fromEntries(filled) }
}
