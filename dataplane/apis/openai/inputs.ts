/** Texts, or lists of token numbers, in OpenAI's APIs other than conversations. */
import { invalid } from '../../body/request.ts'

/** The same limit as OpenAI's. */
const INPUTS_MAX = 2_048
const TOKEN_MAX = 4_294_967_295

/** Throws ERR_GW_INVALID_REQUEST with the position of the mistake. */
export function checkInputs(value: unknown, name: string, mayBeEmpty: boolean): void {
  if (typeof value === 'string') {
    checkText(value, name, mayBeEmpty)
    return
  }
  if (!Array.isArray(value) || value.length === 0)
    throw invalid(`"${name}" must be a text, a list of texts or lists of tokens.`, name)
  const list = value as readonly unknown[]
  if (typeof list[0] === 'number') {
    checkTokens(list, name)
    return
  }
  if (list.length > INPUTS_MAX)
    throw invalid(`"${name}" may hold at most ${INPUTS_MAX} texts; ${list.length} were sent.`, name)
  const isText = typeof list[0] === 'string'
  for (const [at, one] of list.entries()) {
    if (isText) checkText(one, `${name}[${at}]`, mayBeEmpty)
    else checkTokens(one, `${name}[${at}]`)
  }
}

function checkText(text: unknown, param: string, mayBeEmpty: boolean): void {
  if (typeof text !== 'string') throw invalid(`"${param}" must be a text, as the first is.`, param)
  if (text === '' && !mayBeEmpty) throw invalid(`"${param}" is an empty text.`, param)
}

function checkTokens(list: unknown, param: string): void {
  if (!Array.isArray(list) || list.length === 0 || !list.every(isToken))
    throw invalid(`"${param}" must be a text or a list of tokens: whole numbers from 0.`, param)
}

function isToken(value: unknown): boolean {
  return isWhole(value, 0, TOKEN_MAX)
}

export function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
}
