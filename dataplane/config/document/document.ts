/** Parses bytes into a tree of plain values, with the position of each value. */

import {
  type Document,
  LineCounter,
  type ParsedNode,
  parseAllDocuments,
  type YAMLError,
} from 'yaml'
import { isRecord } from '../../json/values.ts'
import { type Path, type Position, type Problem, problemAt, refuse } from '../judgement/problems.ts'
import { type JsonDocument, readJson } from './json-document.ts'
import { offsetOf } from './node-offset.ts'
import { PlainTree } from './plain-tree.ts'

/** A hundred thousand keys fit; nothing sane is larger. */
const DOCUMENT_LENGTH_MAX = 32 * 1024 * 1024

/** Most faults that are shown: one slip causes many faults, and the first ones explain it. */
const FAULTS_MAX = 20

export interface ParsedDocument {
  readonly tree: unknown
  /** Position of the value, or of its key for a collection or on request; of the nearest parent if absent. */
  positionOf(path: Path, atKey?: boolean): Position
}

export type DocumentResult =
  | { readonly document: ParsedDocument; readonly problems: readonly [] }
  | { readonly document?: never; readonly problems: readonly Problem[] }

export type Root = 'map' | 'map or list'

export function parseDocument(text: string, file: string, root: Root = 'map'): DocumentResult {
  const lines = new LineCounter()
  const fail = (offset: number, message: string, fix: string): DocumentResult => ({
    problems: [problemOf(file, positionAt(lines, offset), message, fix)],
  })
  if (text.length > DOCUMENT_LENGTH_MAX) {
    return fail(0, `the document is larger than ${DOCUMENT_LENGTH_MAX} characters`, 'Split it.')
  }
  const json = readJson(text)
  if (json !== undefined && isRoot(json.value, root))
    return { document: fromJson(text, json), problems: [] }
  const documents = parse(text, lines)
  if (documents === undefined) return fail(0, 'nested too deeply', 'Flatten it.')
  const [first, second] = documents
  if (first === undefined || (first.contents === null && first.errors.length === 0)) {
    return fail(0, 'the document is empty', 'Write apiVersion, kind and gw.')
  }
  const faults = documents.flatMap((document) => [...document.errors, ...document.warnings])
  // The parser recurses, so a document of only brackets exhausts the stack.
  const exhausted = faults.find(({ code, message }) => isExhausted(code, message))
  if (exhausted !== undefined) return fail(exhausted.pos[0], 'nested too deeply', 'Flatten it.')
  if (faults.length > 0) {
    const shown = ownFaults(faults).slice(0, FAULTS_MAX)
    return { problems: firstOfLines(shown.map((fault) => syntax(fault, file, lines))) }
  }
  if (second !== undefined) {
    const message = 'the file holds several documents; a configuration is one'
    return fail(second.range[0], message, 'Remove everything from the second "---" on.')
  }
  const plain = new PlainTree(first)
  if (plain.faults.length > 0) {
    const problems = plain.faults.map(({ offset, message, fix }) =>
      problemOf(file, positionAt(lines, offset), message, fix),
    )
    return { problems }
  }
  if (!isRoot(plain.value, root)) {
    return fail(first.contents?.range[0] ?? 0, `the document must be a ${root}`, ROOT_FIX[root])
  }
  const positionOf = (path: Path, atKey = false) =>
    positionAt(lines, offsetOf(first.contents, plain.targets, path, atKey))
  return { document: { tree: plain.value, positionOf }, problems: [] }
}

function isRoot(value: unknown, root: Root): boolean {
  return isRecord(value) || (root === 'map or list' && Array.isArray(value))
}

function fromJson(text: string, { value, offsetOf }: JsonDocument): ParsedDocument {
  let lines: LineCounter | undefined
  const positionOf = (path: Path, atKey = false) => {
    lines ??= linesOf(text)
    return positionAt(lines, offsetOf(path, atKey))
  }
  return { tree: value, positionOf }
}

function linesOf(text: string): LineCounter {
  const lines = new LineCounter()
  let end = -1
  do {
    lines.addNewLine(end + 1)
    end = text.indexOf('\n', end + 1)
  } while (end !== -1)
  return lines
}

const ROOT_FIX: Record<Root, string> = {
  map: 'Start with apiVersion:, kind: and gw:, each on a separate line.',
  'map or list': 'Write a list of keys, or api_keys: and the list under it.',
}

function parse(text: string, lines: LineCounter): Document.Parsed<ParsedNode>[] | undefined {
  try {
    const documents = parseAllDocuments(text, {
      lineCounter: lines,
      // Merge keys work in kubectl, so they work here.
      merge: true,
      // Duplicates are found by the plain tree, which is linear and can name the first line.
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
    })
    return Array.isArray(documents) ? documents : []
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function isExhausted(code: string, message: string): boolean {
  return code === 'RESOURCE_EXHAUSTION' || message.includes('Maximum call stack')
}

/** A tab makes every later line look wrong. */
function ownFaults(faults: readonly YAMLError[]): readonly YAMLError[] {
  const tabs = faults.filter(({ code }) => code === 'TAB_AS_INDENT')
  return tabs.length > 0 ? tabs : faults
}

/** Further faults of a line mostly follow from its first one. */
function firstOfLines(problems: readonly Problem[]): Problem[] {
  const lines = problems.map(({ line }) => line)
  return problems.filter(({ line }, index) => lines.indexOf(line) === index)
}

const SYNTAX_FIXES: Partial<Record<YAMLError['code'], string>> = {
  TAB_AS_INDENT: 'Indent with spaces; YAML forbids tabs there.',
  BAD_INDENT: 'Align the line with its neighbours, and close what is open above it.',
  MISSING_CHAR: 'Close the quote or bracket, or put the colon after the name.',
  TAG_RESOLVE_FAILED: 'Remove the tag that starts with "!".',
  BAD_ALIAS: 'Define the anchor with & before it is used with *.',
  MULTILINE_IMPLICIT_KEY: 'Put a colon and a space after the name of the field.',
  BLOCK_AS_IMPLICIT_KEY: 'Put the nested field on a separate line.',
}

function syntax(fault: YAMLError, file: string, lines: LineCounter): Problem {
  const isIndent = fault.message.startsWith('Sequence item without')
  const code = isIndent ? 'BAD_INDENT' : fault.code
  const fix = SYNTAX_FIXES[code] ?? 'Correct the YAML at this place.'
  const message = `not valid YAML: ${fault.message.replace(/\.?\s*$/, '').replaceAll('\n', ' ')}`
  return problemOf(file, positionAt(lines, fault.pos[0]), message, fix)
}

function problemOf(file: string, position: Position, message: string, fix: string): Problem {
  return problemAt(refuse([], message, fix), { file, path: '', ...position })
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}
