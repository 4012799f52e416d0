/** What is wrong with `spec`, in the words in which everything else of the document is judged. */
import { z } from 'zod'
import { type Finding, refuse } from '../dataplane/config/problems.ts'
import { explainIssues, pathOf } from '../dataplane/config/shape.ts'
import { WorkloadSpec } from './workload.ts'

const Holder = z.looseObject({ spec: WorkloadSpec.prefault({}) })

export function specProblems(spec: unknown): Finding[] {
  const shown = { spec }
  const parsed = Holder.safeParse(shown)
  if (parsed.success) return []
  return parsed.error.issues.flatMap((issue) =>
    // Rules over several fields are whole sentences.
    issue.code === 'custom'
      ? [refuse(pathOf(issue), issue.message, 'Correct the field, or remove it.')]
      : explainIssues([issue], shown, Holder),
  )
}
