/** `spec` as the API server and the operator will judge it, so that a file that is right here is right there, too. */

import { specProblems } from '../../crds/spec-problems.ts'
import { parseDocument } from '../../dataplane/config/document/document.ts'
import { problemAt, showPath, sortProblems } from '../../dataplane/config/judgement/problems.ts'
import type { Loaded } from '../../dataplane/config/load.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import { KIND } from '../../dataplane/schema/index.ts'

export function withSpecProblems(loaded: Loaded, text: string): Loaded {
  const { document } = parseDocument(text, loaded.file)
  if (document === undefined || !isRecord(document.tree)) return loaded
  const { kind, spec } = document.tree
  // The schema has said already what it must be; the spec of something else is not this one.
  if (kind !== KIND || !isRecord(spec)) return loaded
  const found = specProblems(spec).map((finding) =>
    problemAt(finding, {
      file: loaded.file,
      path: showPath(finding.path),
      ...document.positionOf(finding.path, finding.atKey),
    }),
  )
  if (found.length === 0) return loaded
  const { configuration: _, ...refused } = loaded
  return { ...refused, problems: sortProblems(loaded.file, [...loaded.problems, ...found]) }
}
