/** Turns tolerant input into the canonical form, and remembers where each canonical field was written. */
import { isRecord } from '../../json/values.ts'
import { PROVIDER_FACTS, PROVIDER_NAMES, type ProviderName } from '../../providers/index.ts'
import { asNested } from '../../schema/constants.ts'
import type { Path } from '../judgement/problems.ts'
import { type Move, sourceThrough } from './moves.ts'
import type { Tree } from './tree.ts'

export interface Canonical {
  readonly tree: unknown
  readonly moves: readonly Move[]
  /** The path that the user wrote for this canonical path. */
  sourceOf(path: Path): Path
}

export function canonicalize(tree: unknown): Canonical {
  if (!isRecord(tree) || !isRecord(tree.gw)) return { tree, moves: [], sourceOf: (path) => path }
  const moves: Move[] = []
  const gw: Tree = { ...tree.gw }
  if (Array.isArray(gw.upstreams)) {
    gw.upstreams = gw.upstreams.map((upstream, index) => canonicalUpstream(upstream, index, moves))
  }
  if (Array.isArray(gw.routes)) {
    gw.routes = gw.routes.map((route, index) => canonicalRoute(route, index, moves))
  }
  if (isRecord(gw.aliases)) canonicalAliases(gw, gw.aliases, moves)
  if (Array.isArray(gw.pricing)) {
    gw.pricing = { models: gw.pricing }
    moves.push(move(['gw', 'pricing', 'models'], ['gw', 'pricing'], true))
  }
  if (typeof gw.no_proxy === 'string') {
    gw.no_proxy = splitList(gw.no_proxy)
    moves.push(move(['gw', 'no_proxy'], ['gw', 'no_proxy'], false))
  }
  if ('tls' in gw) gw.tls = canonicalTls(gw.tls)
  if (isRecord(gw.gateway) && 'tls' in gw.gateway) {
    gw.gateway = { ...gw.gateway, tls: canonicalTls(gw.gateway.tls) }
  }
  return { tree: { ...tree, gw }, moves, sourceOf: sourcesThrough(moves) }
}

/** The same for many paths, with look-ups instead of searches among thousands of moves. */
function sourcesThrough(moves: readonly Move[]): Canonical['sourceOf'] {
  const byPlace = new Map(moves.map((one) => [JSON.stringify(one.canonical), one]))
  return (path) => {
    for (let length = 1; length <= path.length; length += 1) {
      const found = byPlace.get(JSON.stringify(path.slice(0, length)))
      if (found !== undefined) return sourceThrough([found], path)
    }
    return path
  }
}

function move(canonical: Path, written: Path, keepsRest: boolean): Move {
  return { canonical, written, keepsRest }
}

function canonicalUpstream(upstream: unknown, index: number, moves: Move[]): unknown {
  if (!isRecord(upstream)) return upstream
  const canonical: Tree = { ...upstream }
  if (typeof canonical.provider === 'string') {
    canonical.provider = providerNamed(canonical.provider) ?? canonical.provider
  }
  if ('tls' in canonical) canonical.tls = canonicalTls(canonical.tls)
  canonicalKeys(canonical, index, moves)
  const { model } = canonical
  if (canonical.models === undefined && isPatternOf(model)) {
    canonical.models = [model].flat()
    canonical.model = '*'
    const written = ['gw', 'upstreams', index]
    moves.push(move([...written, 'models'], [...written, 'model'], Array.isArray(model)))
  }
  return canonical
}

/** A list of keys: the first one, and the others. */
function canonicalKeys(upstream: Tree, index: number, moves: Move[]): void {
  const { api_key: keys } = upstream
  if (!Array.isArray(keys) || keys.length === 0 || upstream.further_api_keys !== undefined) return
  const [first, ...further] = keys
  const place = ['gw', 'upstreams', index]
  const written = [...place, 'api_key']
  upstream.api_key = first
  moves.push(move(written, [...written, 0], false))
  if (further.length === 0) return
  upstream.further_api_keys = further
  for (const at of further.keys())
    moves.push(move([...place, 'further_api_keys', at], [...written, at + 1], false))
}

/** A list of names and patterns, or one pattern. A * alone takes every model. */
function isPatternOf(model: unknown): boolean {
  if (Array.isArray(model)) return true
  return typeof model === 'string' && model !== '*' && model.includes('*')
}

function canonicalRoute(route: unknown, index: number, moves: Move[]): unknown {
  if (!isRecord(route)) return route
  const { fallback } = route
  const nested = Array.isArray(fallback) ? { fallback: fallback.map(canonicalFallback) } : {}
  if (!Array.isArray(route.upstreams)) return { ...route, ...nested }
  const upstreams = route.upstreams.map((entry, position) => {
    const written = ['gw', 'routes', index, 'upstreams', position]
    if (isRecord(entry) && typeof entry.route === 'string' && entry.name === undefined) {
      const { route: name, ...rest } = entry
      moves.push(move([...written, 'name'], [...written, 'route'], false))
      return { name: asNested(name), ...rest }
    }
    if (typeof entry !== 'string') return entry
    moves.push(move([...written, 'name'], written, false))
    return { name: entry }
  })
  return { ...route, upstreams, ...nested }
}

function canonicalFallback(entry: unknown): unknown {
  if (!isRecord(entry) || typeof entry.route !== 'string') return entry
  return Object.keys(entry).length === 1 ? asNested(entry.route) : entry
}

/** An alias may be written as `{route, deprecated}`; other members stay for the schema to refuse. */
function canonicalAliases(gw: Tree, written: Tree, moves: Move[]): void {
  const ends: [string, unknown][] = []
  const aliases = Object.entries(written).map(([alias, value]): [string, unknown] => {
    if (!isRecord(value) || typeof value.route !== 'string') return [alias, value]
    const { route, deprecated, ...others } = value
    if (Object.keys(others).length > 0) return [alias, value]
    const place = ['gw', 'aliases', alias]
    moves.push(move(place, [...place, 'route'], false))
    if (deprecated !== undefined) {
      ends.push([alias, deprecated])
      moves.push(move(['gw', 'deprecated_aliases', alias], [...place, 'deprecated'], true))
    }
    return [alias, route]
  })
  gw.aliases = Object.fromEntries(aliases)
  if (ends.length === 0) return
  const listed = isRecord(gw.deprecated_aliases) ? gw.deprecated_aliases : {}
  gw.deprecated_aliases = { ...listed, ...Object.fromEntries(ends) }
}

function canonicalTls(tls: unknown): unknown {
  if (!isRecord(tls) || !('min_version' in tls)) return tls
  return { ...tls, min_version: canonicalTlsVersion(tls.min_version) }
}

function canonicalTlsVersion(version: unknown): unknown {
  if (typeof version !== 'string' && typeof version !== 'number') return version
  const digits = /^\s*(?:tls)?[\s_-]*v?([0-9]\.[0-9])\s*$/i.exec(String(version))?.[1]
  return digits === undefined ? version : `TLSv${digits}`
}

const PROVIDERS_BY_LETTERS = new Map<string, ProviderName>([
  ...PROVIDER_NAMES.map((name) => [lettersOf(name), name] as const),
  ...PROVIDER_NAMES.flatMap((name) =>
    (PROVIDER_FACTS[name].aliases ?? []).map((alias) => [alias, name] as const),
  ),
])

/** Each understood spelling, in lower case and by its letters and digits alone. */
export const PROVIDER_SPELLINGS: readonly string[] = [...PROVIDERS_BY_LETTERS.keys()]

/** Ignores case, dashes and dots; undefined: the schema refuses it. */
export function providerNamed(written: string): ProviderName | undefined {
  return PROVIDERS_BY_LETTERS.get(lettersOf(written))
}

/** The letters and digits of a name, in lower case. */
export function lettersOf(written: string): string {
  return written.toLowerCase().replace(/[^a-z0-9]/g, '')
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}
