/** Turns each issue of the schema into a finding with a fix. */

import type { z } from 'zod'
import { isRecord, valueBelow } from '../../json/values.ts'
import { GatewayConfig } from '../../schema/index.ts'
import { EMPTIED_FIX } from '../document/reference-syntax.ts'
import { descriptionAt, fieldsAt } from '../schema-walk.ts'
import { Suggestions } from './nearest.ts'
import { andMore, FINDINGS_MAX, type Finding, type Path, refuse, showPath } from './problems.ts'
import { SERVICES_ADVICE, serviceAdvice } from './services.ts'

type Issue = z.core.$ZodIssue

export interface IssueWording {
  readonly schema?: z.ZodType
  readonly suggestions?: Suggestions
  /** Most findings that get a message; the others are only counted. */
  readonly most?: number
  /** Issues without a message. */
  readonly isExpected?: (path: Path) => boolean
}

/** `shown` is the tree with references unresolved, so that no message repeats a secret. */
export function explainIssues(
  issues: readonly Issue[],
  shown: unknown,
  explanation: IssueWording = {},
): Finding[] {
  const { schema = GatewayConfig, suggestions = new Suggestions() } = explanation
  const { most = FINDINGS_MAX, isExpected } = explanation
  const facts = issues
    .flatMap(singly)
    .filter((issue) => isExpected === undefined || !isExpected(placeOf(issue)))
    .filter((issue) => !isOfMisplaced(issue, shown))
  const findings = facts
    .slice(0, most)
    .map((issue) => explainIssue(issue, shown, { schema, suggestions }))
  const hidden = facts.length - findings.length
  if (hidden === 0) return findings
  return [...findings, andMore(hidden, { severity: 'error', path: findings.at(-1)?.path })]
}

/** One issue may list thousands of fields. */
function singly(issue: Issue): Issue[] {
  if (issue.code !== 'unrecognized_keys' || issue.keys.length < 2) return [issue]
  return issue.keys.map((key) => ({ ...issue, keys: [key] }))
}

function placeOf(issue: Issue): Path {
  const path = pathOf(issue)
  const key = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  return key === undefined ? path : [...path, key]
}

export function pathOf(issue: Issue): Path {
  return issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
}

interface Words {
  readonly schema: z.ZodType
  readonly suggestions: Suggestions
}

function explainIssue(issue: Issue, shown: unknown, words: Words): Finding {
  const { schema, suggestions } = words
  const path = pathOf(issue)
  const value = valueBelow(shown, ...path)
  const meaning = descriptionAt(schema, path)
  if (value === undefined) return missing(path, issue, meaning)
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownField(path, issue.keys[0] ?? '', words)
    case 'invalid_type':
      return wrongType(path, value, issue.expected, meaning)
    case 'invalid_value':
      return advised(wrongValue(path, value, issue.values.map(String), suggestions), value)
    case 'too_small':
      return outOfBounds(path, value, boundOf(issue, Number(issue.minimum), 'least'))
    case 'too_big':
      return outOfBounds(path, value, boundOf(issue, Number(issue.maximum), 'most'))
    case 'invalid_key': {
      const reason = issue.issues[0]?.message ?? issue.message
      const finding = refuse(path, `this name is not allowed: ${reason}`, 'Choose another name.')
      return { ...finding, atKey: true }
    }
    default:
      return wrongForm(path, value, sentenceOf(issue), meaning)
  }
}

/** An unknown provider may be a service that speaks like a known one. */
function advised(finding: Finding, value: unknown): Finding {
  const isUpstreams = finding.path[1] === 'upstreams' && finding.path.at(-1) === 'provider'
  if (!isUpstreams || typeof value !== 'string') return finding
  return { ...finding, fix: serviceAdvice(value) ?? `${finding.fix} ${SERVICES_ADVICE}` }
}

function wrongForm(path: Path, value: unknown, rule: string, meaning: string | undefined): Finding {
  const message = `${show(value)} ${rule}`
  const better = typeof value === 'string' ? corrected(value, rule) : undefined
  if (better !== undefined) return refuse(path, message, `Write ${better}.`)
  const wanted = /^must be ([^;]*)/.exec(rule)?.[1]
  const fix = wanted === undefined ? (meaning ?? 'Correct the value.') : `Write ${wanted}.`
  return refuse(path, message, fix)
}

/** Guesses the intended value: an address that lacks its scheme, a path its slash, a name with other characters. */
function corrected(value: string, rule: string): string | undefined {
  if (rule.startsWith('must be an absolute URL') && /^[\w.-]+(:\d+)?(\/[\w./-]*)?$/.test(value))
    return `http://${value}`
  if (rule === 'must start with /' && /^[\w.-]/.test(value) && !value.includes(':'))
    return `/${value}`
  if (!rule.startsWith('must start with a letter or digit')) return undefined
  const name = value.replaceAll(/[^A-Za-z0-9._:/-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '')
  return name === '' ? undefined : `${name} or another such name`
}

function sentenceOf(issue: Issue): string {
  if (issue.code !== 'invalid_union') return issue.message
  // The last member of a union is the general one, so its reason helps most.
  return issue.errors.at(-1)?.at(-1)?.message ?? issue.message
}

function missing(path: Path, issue: Issue, meaning: string | undefined): Finding {
  const choices = issue.code === 'invalid_value' ? issue.values.map(String).join(', ') : ''
  const oneOf = choices === '' ? '' : `, one of: ${choices}`
  const fix = `Add the field ${String(path.at(-1))}${oneOf}. ${meaning ?? ''}`.trimEnd()
  return refuse(path, 'required field is missing', fix)
}

const INFRA_COST = 'infra_cost_per_hour_usd'

function isPrice(path: Path): boolean {
  return path.length === 4 && showPath(path.slice(0, 3)) === 'gw.pricing.models'
}

/** An entry that belongs beside the list is not reported for missing fields. */
function isOfMisplaced(issue: Issue, shown: unknown): boolean {
  const place = placeOf(issue)
  const entry = isPrice(place.slice(0, -1)) ? valueBelow(shown, ...place.slice(0, -1)) : undefined
  return isRecord(entry) && Object.keys(entry).every((key) => key === INFRA_COST)
    ? place.at(-1) !== INFRA_COST
    : false
}

function misplacedCost(parent: Path): Finding {
  const message = `${INFRA_COST} is no part of a price: it belongs beside the list`
  const fix = `Write pricing: as a map, with models: (the list) and ${INFRA_COST}: (one number).`
  return { ...refuse([...parent, INFRA_COST], message, fix), atKey: true }
}

function unknownField(parent: Path, key: string, { schema, suggestions }: Words): Finding {
  if (key === INFRA_COST && isPrice(parent)) return misplacedCost(parent)
  const fields = fieldsAt(schema, parent)
  const suggestion = suggestions.didYouMean(key, fields)
  const isOutside = parent.length === 0 || (parent.length === 1 && parent[0] === 'spec')
  const isOfGateway = isOutside && fieldsAt(GatewayConfig, ['gw']).includes(key)
  const fix = isOfGateway
    ? `Move ${key} under gw:, where it belongs.`
    : `Remove it, or use one of: ${fields.join(', ')}.`
  const finding = refuse([...parent, key], `unknown field ${show(key)}${suggestion}`, fix)
  return { ...finding, atKey: true }
}

function wrongType(
  path: Path,
  value: unknown,
  expected: string,
  meaning: string | undefined,
): Finding {
  const wanted = TYPES[expected] ?? expected
  if (value === null) {
    return refuse(path, `has no value; expected ${wanted}`, 'Write a value, or remove the line.')
  }
  if (typeof value === 'string' && value.includes('${')) {
    const message = `${show(value)} gives text; expected ${wanted}`
    return refuse(path, message, 'Write the value itself; only text fields may be references.')
  }
  const better = valueOfType(value, expected, String(path.at(-1)))
  if (better !== undefined) return refuse(path, `expected ${wanted}, not ${show(value)}`, better)
  const isQuoted = typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value))
  const unquote = isQuoted && (expected === 'number' || expected === 'int')
  const fix = unquote ? 'Remove the quotes.' : `Write ${wanted}. ${meaning ?? ''}`.trimEnd()
  return refuse(path, `expected ${wanted}, not ${show(value)}`, fix)
}

/** The fix is known if only quotes or a unit are wrong. */
function valueOfType(value: unknown, expected: string, field: string): string | undefined {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) {
    return `Put it in quotes: "${value}".`
  }
  const isNumber = expected === 'number' || expected === 'int'
  if (!isNumber || typeof value !== 'string' || !/seconds$/i.test(field)) return undefined
  const seconds = /^(\d{1,9}) ?s(ec(onds?)?)?$/.exec(value)?.[1]
  return seconds === undefined ? undefined : `Write ${seconds}; the unit is in the name.`
}

const TYPES: Record<string, string> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of fields',
  record: 'a map',
}

function wrongValue(
  path: Path,
  value: unknown,
  allowed: readonly string[],
  suggestions: Suggestions,
): Finding {
  const choices = allowed.map((choice) => JSON.stringify(choice)).join(', ')
  const fix = allowed.length === 1 ? `Write ${choices}.` : `Use one of: ${choices}.`
  if (typeof value !== 'string') return refuse(path, `${show(value)} is not allowed here`, fix)
  const message = `unknown ${nounOf(path)} ${show(value)}${suggestions.didYouMean(value, allowed)}`
  return refuse(path, message, fix)
}

function nounOf(path: Path): string {
  const last = path.at(-1)
  if (typeof last === 'string') return last
  const list = path.findLast((part) => typeof part === 'string')
  return String(list ?? 'value').replace(/s$/, '')
}

function boundOf(issue: { origin: string; inclusive?: boolean }, bound: number, side: string) {
  if (issue.inclusive === false) return side === 'least' ? `more than ${bound}` : `under ${bound}`
  const units: Record<string, [one: string, more: string]> = {
    string: [' character', ' characters'],
    array: [' entry', ' entries'],
  }
  const [one, more] = units[issue.origin] ?? ['', '']
  return `at ${side} ${bound}${bound === 1 ? one : more}`
}

function outOfBounds(path: Path, value: unknown, bound: string): Finding {
  if (value === '') return refuse(path, 'is empty', EMPTIED_FIX)
  const isSized = Array.isArray(value) || typeof value === 'string'
  const message = `${Array.isArray(value) ? 'the list' : show(value)} is out of bounds`
  return refuse(path, message, isSized ? `Give it ${bound}.` : `Write a number of ${bound}.`)
}

const SHOWN_LENGTH_MAX = 80

function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a map'
  if (typeof value === 'number') return String(value)
  const shown = JSON.stringify(value) ?? String(value)
  return shown.length > SHOWN_LENGTH_MAX ? `${shown.slice(0, SHOWN_LENGTH_MAX)}..."` : shown
}
