/** The differences between Gemini's models, as far as a request shows them. */

import { type Json, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'

type Efforts = Readonly<Record<string, number | string>>

interface Family {
  readonly of: RegExp
  /** How thinking is bounded: a budget of tokens, or a level; models without either do not think. */
  readonly member?: 'thinkingBudget' | 'thinkingLevel'
  /** By `reasoning_effort`; one that is missing here is left out. */
  readonly efforts: Efforts
  /** Whether a history of tool calls without signatures is refused. */
  readonly signs: boolean
}

const BUDGETS: Efforts = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}
const LEVELS: Efforts = {
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
}
/** The larger models cannot think less than this. */
const PRO_BUDGETS: Efforts = { ...BUDGETS, none: 128 }
const PRO_LEVELS: Efforts = { ...LEVELS, none: 'LOW', minimal: 'LOW' }

const THOUGHTLESS: Family = { of: /^/, efforts: {}, signs: false }

/** The first that matches; models that are not known are taken for new ones. */
const FAMILIES: readonly Family[] = [
  { ...THOUGHTLESS, of: /^gemini-(?:1|2\.0)|^gemma|^gemini-2\.5-flash-(?:image|preview-tts)/ },
  { of: /^gemini-2\.5-pro/, member: 'thinkingBudget', efforts: PRO_BUDGETS, signs: false },
  { of: /^gemini-2\.5/, member: 'thinkingBudget', efforts: { ...BUDGETS, none: 0 }, signs: false },
  {
    of: /^gemini-3-pro/,
    member: 'thinkingLevel',
    efforts: { ...PRO_LEVELS, medium: 'HIGH' },
    signs: true,
  },
  { of: /^gemini-(?:[\d.]+-)?pro/, member: 'thinkingLevel', efforts: PRO_LEVELS, signs: true },
]
/** The lowest level of the smaller models comes close to no thinking. */
const NEWEST: Family = {
  of: /^/,
  member: 'thinkingLevel',
  efforts: { ...LEVELS, none: 'MINIMAL' },
  signs: true,
}

/** The member `thinkingConfig`; undefined where the client does not say how much to think, or the model has no choice. */
export function thinkingOf(body: ChatBody, model: string): Json | undefined {
  const effort = textOf(body.reasoning_effort)
  const { member, efforts } = familyOf(model)
  const bound = rowOf(efforts, effort)
  if (member === undefined || bound === undefined) return undefined
  return {
    thinkingConfig: { [member]: bound, ...(effort !== 'none' && { includeThoughts: true }) },
  }
}

export function signsCalls(model: string): boolean {
  return familyOf(model).signs
}

/** The name without the path that may stand before it, such as `publishers/google/models/`. */
export function bareName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1)
}

function familyOf(model: string): Family {
  const name = bareName(model)
  return FAMILIES.find(({ of }) => of.test(name)) ?? NEWEST
}

/** 2026-11-26, https://ai.google.dev/gemini-api/docs/image-generation: models whose answers are pictures. */
const PAINTERS = /^gemini-[\w.-]*-image(?:-|$)|^gemini-2\.0-flash-(?:exp|preview)-image-generation/

export function paints(model: string): boolean {
  return PAINTERS.test(bareName(model))
}
