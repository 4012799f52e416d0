/** Prepares an admitted request for upstreams: guardrails judge it, passages are added, its difficulty is scored. */
import type { Presence } from '../../call/presence.ts'
import type { Active } from '../../gateway/active.ts'
import type { Note } from '../../guardrails/guard.ts'
import type { Guards } from '../../guardrails/guards.ts'
import { textsOf } from '../../guardrails/request-texts.ts'
import type { Applicant } from '../../limits/decision.ts'
import type { Passage } from '../../retrieval/passages.ts'
import { KeptTexts } from '../../telemetry/kept-texts.ts'
import type { ChatRequest, ModelRequest } from '../../wire/inner-form.ts'
import type { Inspector } from '../../wire/inspection.ts'
import type { Notes } from '../notes.ts'
import type { Admission } from './admit.ts'
import { type Assembled, type Assembling, assemble } from './assemble.ts'
import { type Classifying, classify } from './classify.ts'
import { type Guarded, guard, guardrailsOf } from './guard.ts'

export interface Prepared {
  readonly request: ModelRequest
  readonly inspector: Inspector | undefined
  readonly verdict: Guarded['verdict']
  /** Score of the prompt's difficulty; undefined unless the route needs it. */
  readonly difficulty: number | undefined
  /** Like that of the admission, less the room that passages use in the context windows. */
  readonly terms: Admission
}

/** The parts of the gateway that this stage uses. */
type Preparing = { readonly guards: Guards } & Pick<Assembling, 'retrievals'> &
  Assembling['library'] &
  Classifying

const NONE: readonly Passage[] = []

/** The parts of a visit that this stage uses. */
interface Prepares {
  readonly active: Pick<Active, 'snapshot' | 'placement'>
  readonly gateway: Preparing
  readonly notes: Notes
  readonly response: { readonly presence: Presence }
}

interface PreparedWith {
  readonly inspector: Inspector | undefined
  readonly guardrails: readonly string[]
}

/** `inspector` reads the answers of a route without guardrails. Throws the errors of the stages. */
export function prepare(
  applicant: Applicant,
  admission: Admission,
  inspector: Inspector | undefined,
  visit: Prepares,
): Prepared | Promise<Prepared> {
  const { retrieval, semantic, trace } = admission.route.section
  const guardrails = guardrailsOf(applicant.route, admission.route)
  // Most routes need none of these, and their requests do not wait.
  if (guardrails.length > 0 || retrieval.length > 0 || semantic || trace?.keep_texts)
    return prepared(applicant, admission, { inspector, guardrails }, visit)
  const { request } = applicant
  return { request, inspector, verdict: undefined, difficulty: undefined, terms: admission }
}

async function prepared(
  applicant: Applicant,
  admission: Admission,
  { inspector, guardrails }: PreparedWith,
  visit: Prepares,
): Promise<Prepared> {
  const { retrieval, semantic, trace } = admission.route.section
  const guarded: Guarded =
    guardrails.length === 0
      ? { request: applicant.request, inspector }
      : await guardedBy(guardrails, applicant, admission, visit)
  const { request, passages, terms } =
    retrieval.length === 0 || guarded.request.operation !== 'chat'
      ? { request: guarded.request, passages: NONE, terms: admission }
      : await assembledOf(guarded.request, applicant, admission, visit)
  if (trace?.keep_texts) visit.notes.keeps(new KeptTexts(textsOf(request), passages))
  // The score is for the client's own texts, not for the added passages.
  const difficulty = semantic && (await difficultyOf(guarded.request, applicant, admission, visit))
  return { request, inspector: guarded.inspector, verdict: guarded.verdict, difficulty, terms }
}

function guardedBy(
  guardrails: readonly string[],
  { call, request }: Applicant,
  admission: Admission,
  { gateway: { guards }, notes, response: { presence } }: Prepares,
): Promise<Guarded> {
  const note: Note = (judgement) => notes.judged(judgement)
  const asked = { requestId: call.id, presence }
  return guard(request, asked, { ...admission, guardrails }, { guards, note })
}

async function assembledOf(
  request: ChatRequest,
  { call }: Applicant,
  admission: Admission,
  { active, gateway, notes, response: { presence } }: Prepares,
): Promise<Pick<Prepared, 'request' | 'terms'> & Pick<Assembled, 'passages'>> {
  const searches = notes.searches()
  const made = await assemble(request, admission, {
    retrievals: gateway.retrievals,
    library: gateway,
    presence,
    requestId: call.id,
    note: (search) => searches.push(search),
    permitted: active.placement?.permitted,
    reserved: active.snapshot.section.context?.reserve_completion_tokens ?? 0,
  })
  notes.assembled(made.passages, made.context)
  const { passages, fits } = made
  return { request: made.request, passages, terms: { ...admission, fits } }
}

async function difficultyOf(
  request: ModelRequest,
  { call }: Applicant,
  admission: Admission,
  { active, gateway, notes, response: { presence } }: Prepares,
): Promise<number> {
  const leftMs = admission.totalAt - gateway.clock.now()
  const permitted = active.placement?.permitted
  const asked = { requestId: call.id, leftMs, presence, permitted }
  const made = await classify(request, admission, asked, gateway)
  notes.classified(made)
  return made.score
}
