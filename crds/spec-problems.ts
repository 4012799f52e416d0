/** Mistakes in `spec`, in the same words as in the rest of the document. */
import { z } from 'zod'
import { type Finding, refuse } from '../dataplane/config/judgement/problems.ts'
import { explainIssues, pathOf } from '../dataplane/config/judgement/shape.ts'
import { WorkloadSpec } from './workload.ts'

const Holder = z.looseObject({ spec: WorkloadSpec.prefault({}) })

export function specProblems(spec: unknown): Finding[] {
  const shown = { spec }
  const parsed = Holder.safeParse(shown)
  if (parsed.success) return []
  const { issues } = parsed.error
  // Rules over several fields are whole sentences.
  const rules = issues.filter(({ code }) => code === 'custom')
  const others = issues.filter(({ code }) => code !== 'custom')
  return [
    ...explainIssues(others, shown, { schema: Holder }),
    ...rules.map((issue) =>
      refuse(pathOf(issue), issue.message, 'Correct the field, or remove it.'),
    ),
  ]
}
