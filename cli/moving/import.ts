/** Reads the configuration of another gateway, and writes one of this gateway. */
import { type ParsedDocument, parseDocument } from '../../dataplane/config/document/document.ts'
import type { Problem } from '../../dataplane/config/judgement/problems.ts'
import { loadConfiguration } from '../../dataplane/config/load.ts'
import { isForCluster, judgedForCluster } from '../apply/cluster-check.ts'
import type { Written as SourceFile } from '../apply/document.ts'
import { readAgentgateway } from './agentgateway/reader.ts'
import { readBifrost } from './bifrost/reader.ts'
import { type Draft, documentOf, emptyDraft, type Fields } from './draft.ts'
import { readEnvoy } from './envoy/reader.ts'
import { type Account, type Field, Source } from './field.ts'
import { mergeKeys } from './keys.ts'
import { readLitellm } from './litellm/reader.ts'
import { readPortkey } from './portkey/reader.ts'
import { fieldsOf, type MovedField } from './report.ts'
import type { SourceName } from './source-names.ts'
import { commentOf, writtenYaml } from './written.ts'

const READERS: Readonly<Record<SourceName, (root: Field, draft: Draft) => void>> = {
  litellm: readLitellm,
  agentgateway: readAgentgateway,
  'envoy-ai-gateway': readEnvoy,
  bifrost: readBifrost,
  portkey: readPortkey,
}

export interface Moved {
  readonly yaml: string
  readonly fields: readonly MovedField[]
  /** The problems that a gateway would find in the result. */
  readonly problems: readonly Problem[]
  /** Names of its routes. */
  readonly routes: readonly string[]
}

/** Throws a sentence if the file cannot be read as a document. */
export function moved(from: SourceName, file: SourceFile): Moved {
  const source = new Source(from === 'envoy-ai-gateway' ? documentsIn(file) : documentIn(file))
  const draft = emptyDraft()
  READERS[from](source.root, draft)
  const merged = mergeKeys(draft)
  const tree = documentOf(draft)
  const accounts = source.accounts().map((account) => afterMerging(account, merged))
  const lost = accounts.filter(({ outcome }) => outcome === 'no_place')
  const head = [
    `Written by gw import ${from} from ${file.name}. Comments name the line and field that each part was.`,
    ...(lost.length === 0
      ? []
      : ['', 'Without a place:', ...lost.map((one) => `- ${commentOf(one)}`)]),
  ]
  const yaml = writtenYaml({ tree, accounts, remarks: draft.remarks, head })
  const routes = draft.routes.map((route) => String(route.name))
  return { yaml, fields: fieldsOf(accounts, tree), problems: problemsOf(yaml), routes }
}

/** A field of an upstream that is gone belongs to the one that has its key. */
function afterMerging(account: Account, merged: ReadonlyMap<object, Fields>): Account {
  const places = account.places.map(({ owner, member }) => {
    const kept = merged.get(owner)
    return { owner: kept ?? owner, member: kept && member === 'weight' ? 'api_key' : member }
  })
  for (const { owner, member } of account.places) {
    const kept = merged.get(owner)
    if (kept === undefined || (member !== 'name' && member !== 'weight')) continue
    const name = String(kept.name)
    const note =
      member === 'name' ? `a key of the upstream ${name}` : `the keys of ${name} take turns`
    return { ...account, outcome: 'changed', places, note }
  }
  return { ...account, places }
}

/** As `gw config validate` finds them, on a machine without the variables. */
function problemsOf(yaml: string): readonly Problem[] {
  const host = { env: {}, readText: unread, now: Date.now }
  const alone = loadConfiguration(yaml, 'gw.yaml', host, 'validate')
  return (isForCluster(yaml, 'gw.yaml') ? judgedForCluster(alone, yaml, false) : alone).problems
}

function unread(): never {
  throw new Error('not read here')
}

function documentIn({ name, text }: SourceFile): ParsedDocument {
  const { document, problems } = parseDocument(text, name)
  if (document !== undefined) return document
  const [first] = problems
  throw new Error(`${name}:${first?.line}: ${first?.message}`)
}

const SEPARATOR = /^---(\s|$)/

/** A list of the documents of a file; each keeps its line numbers. */
function documentsIn({ name, text }: SourceFile): ParsedDocument {
  const lines = text.split('\n')
  const starts = [0, ...lines.flatMap((line, at) => (at > 0 && SEPARATOR.test(line) ? [at] : []))]
  const parts = starts.map((start, index) => lines.slice(start, starts[index + 1] ?? lines.length))
  const documents = parts.flatMap((part, index) => {
    if (part.every((line) => /^\s*(#.*)?$|^---\s*$/.test(line))) return []
    return [documentIn({ name, text: '\n'.repeat(starts[index] ?? 0) + part.join('\n') })]
  })
  return {
    tree: documents.map(({ tree }) => tree),
    positionOf: ([index, ...rest], atKey) =>
      documents[Number(index)]?.positionOf(rest, atKey) ?? { line: 1, column: 1 },
  }
}
