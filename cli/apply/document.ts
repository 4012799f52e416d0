/** The file to apply: read once, and judged for a cluster before it is sent. */

import { readFileSync } from 'node:fs'
import { parseConfiguration } from '../../dataplane/config/document/foreign-gateways.ts'
import {
  hasErrors,
  type Problem,
  problemAt,
  showPath,
} from '../../dataplane/config/judgement/problems.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { compile } from '../../operator/compile/compile.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { EXIT, printRemark } from '../printing/output.ts'

export interface Written {
  /** Name of the file in messages. */
  readonly name: string
  readonly text: string
}

/** undefined if the file cannot be read; the reason is then printed. */
export function readWritten(path: string): Written | undefined {
  const name = path === '-' ? 'stdin' : path
  try {
    return { name, text: readFileSync(path === '-' ? 0 : path, 'utf8') }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    printRemark(`cannot read ${name}: ${reason}\n    fix: Give the path of a file with --file.`)
    process.exitCode = EXIT.unanswered
    return undefined
  }
}

export interface JudgedDocument {
  /** Absent if the file is refused. */
  readonly gateway?: KubeObject
  readonly problems: readonly Problem[]
}

export interface ApplyTarget {
  readonly name: string | undefined
  /** The namespace in the option, else that of the context. */
  readonly namespace: string
  readonly isNamespaceSaid: boolean
}

export function judge({ name: file, text }: Written, target: ApplyTarget): JudgedDocument {
  const { document, problems } = parseConfiguration(text, file)
  if (document === undefined) return { problems }
  const { tree } = document
  const written = isRecord(tree) ? tree : {}
  const name = target.name ?? valueBelow(tree, 'metadata', 'name')
  const ownNamespace = valueBelow(tree, 'metadata', 'namespace')
  const at = (path: readonly string[], message: string, fix: string): Problem =>
    problemAt(
      { severity: 'error', path, message, fix },
      { file, path: path.join('.'), ...document.positionOf(path) },
    )
  if (typeof name !== 'string' || name === '') {
    const fix = 'Write metadata.name, or give --gateway NAME.'
    return { problems: [at(['metadata', 'name'], 'the gateway has no name', fix)] }
  }
  const isElsewhere =
    typeof ownNamespace === 'string' && target.isNamespaceSaid && ownNamespace !== target.namespace
  if (isElsewhere) {
    const message = `the file is for namespace "${ownNamespace}", and --namespace says "${target.namespace}"`
    return { problems: [at(['metadata', 'namespace'], message, 'Make them agree.')] }
  }
  const namespace = typeof ownNamespace === 'string' ? ownNamespace : target.namespace
  const gateway = objectOf(written, { name, namespace })
  // Keys may be GatewayKey resources, so the file alone does not show which keys are missing.
  const { problems: findings } = compile({
    gateway,
    keys: [],
    now: Date.now(),
    areAllKeys: false,
  })
  const found = findings.map((finding) =>
    problemAt(finding, {
      file,
      path: showPath(finding.path),
      ...document.positionOf(finding.path, finding.atKey),
    }),
  )
  return hasErrors(found) ? { problems: found } : { gateway, problems: found }
}

/** Members that the API server sets are not sent. */
function objectOf(
  tree: Readonly<Record<string, unknown>>,
  place: { readonly name: string; readonly namespace: string },
): KubeObject {
  const { status: _, ...rest } = tree
  const labels = valueBelow(tree, 'metadata', 'labels')
  const annotations = valueBelow(tree, 'metadata', 'annotations')
  const metadata = {
    ...place,
    ...(isRecord(labels) ? { labels } : {}),
    ...(isRecord(annotations) ? { annotations } : {}),
  }
  // The API server checks the texts of labels and annotations.
  return { ...rest, metadata } as KubeObject
}
