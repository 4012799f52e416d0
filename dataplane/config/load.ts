/** Loads a configuration from its text: document, references, canonical form, schema, support, checks. */
import { isRecord, valueBelow } from '../json/values.ts'
import type { Configuration, Section } from '../schema/index.ts'
import { type Loaded, type LoadedData, withReferences } from './apart/loaded.ts'
import { parseConfiguration } from './document/foreign-gateways.ts'
import { type KeysFile, type KeysResult, readKeysFile } from './document/keys-file.ts'
import { readTree } from './document/reading.ts'
import {
  besideFile,
  filesReferredTo,
  type Host,
  type Resolution,
  type Unresolved,
} from './document/references.ts'
import { judge } from './judgement/judge.ts'
import { type Locator, makeLocator } from './judgement/locate.ts'
import {
  type Finding,
  hasErrors,
  type Problem,
  showPath,
  sortProblems,
} from './judgement/problems.ts'
import { type Purpose, unresolvedFinding } from './judgement/unresolved.ts'
import { placeTlsFiles, readTlsFiles } from './tls-files.ts'
import { placeTokenizerFiles, readTokenizerFiles } from './tokenizer-files.ts'

export function loadConfiguration(
  text: string,
  file: string,
  host: Host,
  purpose: Purpose = 'run',
): Loaded {
  return withReferences(loadData(text, file, host, purpose))
}

export function loadData(text: string, file: string, host: Host, purpose: Purpose): LoadedData {
  const { document, problems } = parseConfiguration(text, file)
  if (document === undefined) return nothingLoaded(file, problems)
  const reading = readTree(document.tree, host, file)
  const { resolution, resolved, written, moves, sourceOf } = reading
  const keys = keysOf(resolved, file, host)
  const keysFile = keys?.kind === 'read' ? keys.keysFile : undefined
  const own = valueBelow(resolved, 'gw', 'api_keys')
  const ownKeys = Array.isArray(own) ? own.length : 0
  const locator = makeLocator(file, document, { file: keysFile, own: ownKeys })
  const unresolved = [...resolution.unresolved, ...keysUnresolved(keysFile, ownKeys)]
  const unread = [...unresolved, ...resolution.findings]
  const unknown = new Set(unread.map(({ path }) => showPath(sourceOf(path))))
  const judgement = judge(
    {
      ...reading,
      resolved: withKeys(resolved, keysFile?.keys),
      written: withKeys(written, keysFile?.written),
    },
    // A reference that leads nowhere is reported as such; its schema error would only add noise.
    { now: host.now?.(), isExpected: (source) => unknown.has(source) },
  )
  const configuration = judgement.configuration && {
    ...judgement.configuration,
    gw: placeFiles(judgement.configuration.gw, (path) => besideFile(file, path)),
  }
  const found = sortProblems(file, [
    ...resolution.findings.map(locator),
    ...unresolved.map((one) => locator(unresolvedFinding(one, purpose))),
    ...keysProblems(keys, purpose, locator),
    ...judgement.findings.map(locator),
    ...fileFindings(configuration, host, purpose).map(locator),
  ])
  return {
    file,
    problems: found,
    unresolved,
    ownKeys,
    uses: resolution.uses,
    moves,
    ...(keys === undefined ? {} : { keysFile: keysPath(keys) }),
    referredFiles: [
      ...referredFiles(resolution, host, file),
      ...(keysFile === undefined ? [] : referredFiles(keysFile.resolution, host, keysFile.file)),
    ],
    ...(configuration === undefined || hasErrors(found) ? {} : { configuration }),
  }
}

/** Files may be missing on the machine that validates; there the start would fail. */
function fileFindings(
  configuration: Configuration | undefined,
  host: Host,
  purpose: Purpose,
): Finding[] {
  if (configuration === undefined) return []
  const readText = (path: string) => host.readText(path)
  const { gw } = configuration
  const findings = [...readTlsFiles(gw, readText), ...readTokenizerFiles(gw, readText)]
  if (purpose === 'run') return findings
  return findings.map((finding) => ({ ...finding, severity: 'warning' }))
}

function placeKeySets(section: Section, place: (path: string) => string): Section {
  const jwt = section.auth.jwt.map((issuer) => {
    const { file } = issuer.jwks
    return file === undefined ? issuer : { ...issuer, jwks: { file: place(file) } }
  })
  return { ...section, auth: { ...section.auth, jwt } }
}

function placeEventFile(usage: Section['usage'], place: (path: string) => string) {
  const { sinks } = usage
  if (sinks?.file === undefined) return usage
  return { ...usage, sinks: { ...sinks, file: { ...sinks.file, path: place(sinks.file.path) } } }
}

/** Relative paths are relative to the configuration, wherever the process was started. */
function placeFiles(section: Section, place: (path: string) => string): Section {
  const { state_dir } = section
  const files = placeTokenizerFiles(placeTlsFiles(section, place), place)
  const placed = placeKeySets(files, place)
  const usage = placeEventFile(section.usage, place)
  return { ...placed, usage, ...(state_dir !== undefined && { state_dir: place(state_dir) }) }
}

function referredFiles({ uses }: Resolution, host: Host, file: string): string[] {
  return [...uses.values()].flatMap(({ text }) => filesReferredTo(text, host, file))
}

function nothingLoaded(file: string, problems: readonly Problem[]): LoadedData {
  return { file, problems, unresolved: [], ownKeys: 0, uses: new Map(), moves: [] }
}

function keysOf(tree: unknown, file: string, host: Host): KeysResult | undefined {
  const path = valueBelow(tree, 'gw', 'api_keys_file')
  const isPath = typeof path === 'string' && path !== '' && !path.includes('${')
  return isPath ? readKeysFile(besideFile(file, path), host) : undefined
}

function keysPath(keys: KeysResult): string {
  if (keys.kind === 'read') return keys.keysFile.file
  return keys.kind === 'unreadable' ? keys.file : (keys.problems[0]?.file ?? '')
}

/** The document with the keys of the file after its own; a wrong `api_keys` is left to the schema. */
function withKeys(tree: unknown, keys: readonly unknown[] | undefined): unknown {
  if (keys === undefined || !isRecord(tree) || !isRecord(tree.gw)) return tree
  const own = tree.gw.api_keys ?? []
  if (!Array.isArray(own)) return tree
  return { ...tree, gw: { ...tree.gw, api_keys: [...own, ...keys] } }
}

/** Paths in the keys file, as they are in the merged document. */
function keysUnresolved(keysFile: KeysFile | undefined, ownKeys: number): Unresolved[] {
  if (keysFile === undefined) return []
  return keysFile.resolution.unresolved.map((one) => {
    const [index, ...rest] = one.path.slice(keysFile.root.length)
    return { ...one, path: ['gw', 'api_keys', Number(index) + ownKeys, ...rest] }
  })
}

function keysProblems(
  keys: KeysResult | undefined,
  purpose: Purpose,
  locator: Locator,
): readonly Problem[] {
  if (keys === undefined) return []
  if (keys.kind !== 'unreadable') return keys.problems
  const message = `${keys.file} cannot be read (${keys.why})`
  const finding: Finding = {
    severity: purpose === 'run' ? 'error' : 'warning',
    path: ['gw', 'api_keys_file'],
    message: purpose === 'run' ? message : `${message}; its keys were not checked`,
    fix: 'Correct the path, or let the gateway read the file.',
  }
  return [locator(finding)]
}
