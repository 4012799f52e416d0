/** Judges `spec` as the API server and the operator do, so that a valid file is valid there, too. */

import { specProblems } from '../../crds/spec-problems.ts'
import type { Loaded } from '../../dataplane/config/apart/loaded.ts'
import { parseDocument } from '../../dataplane/config/document/document.ts'
import { problemAt, showPath, sortProblems } from '../../dataplane/config/judgement/problems.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import { KIND } from '../../dataplane/schema/index.ts'

export function withSpecProblems(loaded: Loaded, text: string): Loaded {
  const { document } = parseDocument(text, loaded.file)
  if (document === undefined || !isRecord(document.tree)) return loaded
  const { kind, spec } = document.tree
  // The schema has already reported the mistake; a document of another kind has another spec.
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
