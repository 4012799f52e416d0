/** Judges answers before the client sees them. */
import type { KeptText } from '../base/kept-text.ts'
import type { Answer, ChatAnswer, ChatChoice, CompletionsAnswer } from '../wire/inner-form.ts'
import type { Inspector, StreamInspector } from '../wire/inspection.ts'
import type { Said, Subject } from './contract.ts'
import type { Guard, Note } from './guard.ts'
import { HeldStream } from './held-stream.ts'

/** Returns the texts that the client may see. Throws the errors of the guardrails. */
export type Judge = (texts: readonly string[]) => Promise<readonly string[]>

/** undefined if no guardrail judges answers. */
export function outputInspector(
  guards: readonly Guard[],
  subject: Subject,
  note: Note,
): Inspector | undefined {
  const judging = guards.filter((guard) => guard.judges('output'))
  if (judging.length === 0) return undefined
  return new OutputInspector(async (texts) => {
    let judged = texts
    for (const guard of judging)
      judged = await guard.judge('output', judged.map(said), subject, note)
    return judged
  })
}

function said(text: string): Said {
  return { role: 'assistant', text }
}

/** Answers with text, and their choices; a legacy completion has only a text. */
type Spoken = ChatAnswer | CompletionsAnswer
type GuardedChoice = Pick<ChatChoice, 'text' | 'finish'> & Partial<ChatChoice>

class OutputInspector implements Inspector {
  readonly #judge: Judge

  constructor(judge: Judge) {
    this.#judge = judge
  }

  async whole(answer: Answer): Promise<Answer> {
    return 'choices' in answer ? await this.#judged(answer) : answer
  }

  open(kept: KeptText): StreamInspector {
    return new HeldStream(this.#judge, kept)
  }

  async #judged(answer: Spoken): Promise<Spoken> {
    const texts = answer.choices.flatMap(textsOf)
    const asked = texts.filter((text) => text !== '')
    if (asked.length === 0) return answer
    const judged = [...(await this.#judge(asked))]
    const fresh = texts.map((text) => (text === '' ? '' : (judged.shift() ?? '')))
    // Each choice keeps its other members.
    const choices = answer.choices.map((choice) => withTexts(choice, fresh))
    return { ...answer, choices } as Spoken
  }
}

/** In the order that `withTexts` expects. */
function textsOf({ text, reasoning = '', refusal = '', calls = [] }: GuardedChoice): string[] {
  return [text, reasoning, refusal, ...calls.map((call) => call.arguments)]
}

/** Log probabilities and signed thinking repeat the text, so they are removed. */
function withTexts(
  { logprobs: _, thoughts: _signed, ...choice }: GuardedChoice,
  fresh: string[],
): GuardedChoice {
  const [text = '', reasoning = '', refusal = ''] = fresh.splice(0, 3)
  const calls = choice.calls?.map((call) => ({ ...call, arguments: fresh.shift() ?? '' }))
  return {
    ...choice,
    text,
    ...(calls && { calls }),
    ...(choice.reasoning !== undefined && { reasoning }),
    ...(choice.refusal !== undefined && { refusal }),
  }
}
