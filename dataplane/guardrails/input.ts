/** Judges a request before an upstream gets it. */
import { inTurn } from '../base/steps.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import type { Subject } from './contract.ts'
import type { Guard, Note } from './guard.ts'
import { textsOf, withTexts } from './request-texts.ts'

/** Returns the request that may go to an upstream. Throws the errors of the guardrails. */
export async function judgeInput<Request extends ModelRequest>(
  request: Request,
  guards: readonly Guard[],
  subject: Subject,
  note: Note,
): Promise<Request> {
  let judged = request
  for (const guard of guards) {
    if (!guard.judges('input')) continue
    const asked = judged
    const { bytes } = asked
    const places = await inTurn(bytes, () => textsOf(asked))
    if (places.length === 0) continue
    const texts = await guard.judge('input', places, subject, note)
    judged = await inTurn(bytes, () => withTexts(asked, places, texts))
  }
  return judged
}
