/** Whether an upstream serves the revision of its tokenizer pin, as a step of its trial. */

import type { UpstreamSettings } from '../../config/snapshot.ts'
import { openPool } from '../../connection/client.ts'
import type { Section } from '../../schema/index.ts'
import { readModelRevision, stateOf } from '../../upstream/live/model-revision.ts'
import { LISTED_REVISION } from '../../wire/revisions.ts'
import type { Step } from './trial.ts'

export interface RevisionStep extends Omit<Step, 'failure'> {
  readonly failure?: { readonly class: 'tokenizer_mismatch'; readonly message: string }
}

/** undefined if the configuration checks no revision. A revision that the upstream does not report is not a failure. */
export async function tryRevision(
  settings: UpstreamSettings,
  section: Section,
): Promise<RevisionStep | undefined> {
  const { tokenizer_revision: pinned, tokenizer_autodetect: isDetected } = settings.section
  if (pinned === undefined && isDetected !== true) return undefined
  const [question] = settings.provider.revisionQuestions ?? LISTED_REVISION
  const asked = `GET ${settings.origin}${question?.path ?? ''}`
  const startedAt = performance.now()
  const pool = openPool(settings, section, 1)
  try {
    const served = await readModelRevision(pool, settings).catch(() => undefined)
    const ms = Math.round(performance.now() - startedAt)
    const revision = served ?? 'unknown'
    if (stateOf(pinned, served) !== 'mismatch')
      return { step: 'revision', ok: true, ms, asked, revision }
    const message = `It serves revision ${served}, and tokenizer_revision is ${pinned}.`
    return {
      step: 'revision',
      ok: false,
      ms,
      asked,
      revision,
      failure: { class: 'tokenizer_mismatch', message },
    }
  } finally {
    await pool.destroy()
  }
}
