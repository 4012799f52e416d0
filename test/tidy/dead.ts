/**
 * Nothing is declared that has no effect: product code reads each setting, counts each metric and answers with each
 * error code. The compiler finds the uses, so that the `name` of one section is not taken for the `name` of another.
 * Each check runs on the tree with one dead declaration planted in it, and must find this one alone.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  isArrayLiteralExpression,
  isBinaryExpression,
  isBindingElement,
  isCaseClause,
  isElementAccessExpression,
  isFunctionDeclaration,
  isLiteralTypeNode,
  isPropertyAccessExpression,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast'
import type { Symbol as Member, Type } from 'typescript/unstable/sync'
import { type Planted, Program } from './program.ts'

const SCHEMA = 'dataplane/schema/'
const CHECKS = 'dataplane/config/checks/'
const METRICS = 'dataplane/telemetry/metrics.ts'
const ERRORS = 'dataplane/base/errors.ts'

/** Settings that no code reads, and why they are there. */
const UNREAD: Readonly<Record<string, string>> = {
  'gw.routes.semantic.classifier': 'the checks hold it against embedding, which decides',
  'gw.tenants.may_match_none': 'it decides whether a check refuses or warns',
  'gw.auth.jwt.jwks.kubernetes': 'the operator puts keys in its place before the document is read',
  status: 'the operator writes it, and a file may be what kubectl printed',
}

/** A dead setting, metric and error, and uses of each that are none. */
const PLANTED: readonly Planted[] = [
  { path: `${SCHEMA}index.ts`, before: '  slow_ms: ', text: '  planted_ms: count(),' },
  {
    path: `${CHECKS}telemetry.ts`,
    text: 'export const plantedMs = ({ telemetry }: Section) => telemetry.planted_ms',
  },
  {
    path: METRICS,
    before: '  streamsOpen: ',
    text: "  planted: gauge('gw_planted', 'It is only listed.'),",
  },
  { path: METRICS, text: 'export const planted = ({ planted }: Metrics) => planted.entries()' },
  {
    path: METRICS,
    text: 'export const listed = (all: Metrics) => all.planted.retain("", () => true)',
  },
  { path: ERRORS, before: '  ERR_GW_INTERNAL: ', text: "  ERR_GW_PLANTED: row(500, 'a', 'b')," },
  {
    path: 'dataplane/request/response.ts',
    text: "export const planted = (code: ErrorCode) => code === 'ERR_GW_PLANTED'",
  },
]

const program = new Program(PLANTED)
after(() => program.close())

interface Leaf {
  readonly path: readonly string[]
  readonly member: Member
  readonly owner: Type
}

/** The settings that may have more than one value. */
function leavesOf(owner: Type, above: readonly string[]): Leaf[] {
  return program.members(owner).flatMap((member) => {
    const path = [...above, member.name]
    const type = program.typeOf(member)
    const below = program.objectsIn(type)
    if (below.length > 0) return below.flatMap((one) => leavesOf(one, path))
    return type.isLiteralType() ? [] : [{ path, member, owner }]
  })
}

/** `x.leaf`, `x['leaf']` or `{ leaf }`, but no assignment to it. */
function isRead(node: Node): boolean {
  const { parent } = node
  if (isBindingElement(parent)) return true
  if (isElementAccessExpression(parent)) return parent.argumentExpression === node
  if (!isPropertyAccessExpression(parent) || parent.name !== node) return false
  const above = parent.parent
  return !(isBinaryExpression(above) && above.left === parent && isAssignment(above))
}

function isAssignment({ operatorToken }: { readonly operatorToken: Node }): boolean {
  return operatorToken.kind === SyntaxKind.EqualsToken
}

/** A check that reads a setting gives it no effect; neither does a rule of the schema. */
function givesEffect(node: Node, path: string): boolean {
  if (path.startsWith(CHECKS)) return false
  return isRead(node) && (!path.startsWith(SCHEMA) || isInFunction(node))
}

function isInFunction(node: Node | undefined): boolean {
  return node !== undefined && (isFunctionDeclaration(node) || isInFunction(node.parent))
}

test('each setting is read; the check finds one that is not', () => {
  const configuration = program.exported(`${SCHEMA}index.ts`, 'Configuration')
  const leaves = leavesOf(configuration, [])
  const named = leaves.map((leaf) => ({ ...leaf, name: leaf.path.join('.') }))
  for (const name of Object.keys(UNREAD))
    assert.ok(
      named.some((leaf) => leaf.name === name),
      name,
    )
  const unread = named
    .filter(({ name }) => !(name in UNREAD))
    .filter(({ member, owner, path }) => !program.isUsed(member, owner, path, givesEffect))
  const advice = 'read the setting, or refuse it; unless the specification names it, remove it'
  assert.deepEqual(
    unread.map(({ name }) => name),
    ['gw.telemetry.planted_ms'],
    advice,
  )
})

/** The members of a metric that change what it shows. */
const COUNT = ['at', 'collect']

/** `metrics.x.at(...)`, `metrics.x.collect = ...`, the same after `const { x } = metrics`, or `f(metrics.x)`. */
function isCounted(node: Node, path: string): boolean {
  const { parent } = node
  if (isBindingElement(parent)) {
    const uses = program.variable(node, path).filter((use) => use.parent !== parent)
    return uses.some(changesWhatItShows)
  }
  return isPropertyAccessExpression(parent) && parent.name === node && changesWhatItShows(parent)
}

function changesWhatItShows(metric: Node): boolean {
  const { parent } = metric
  if (isPropertyAccessExpression(parent)) return COUNT.includes(parent.name.text)
  return !isArrayLiteralExpression(parent)
}

test('each metric is counted; the check finds one that is not', () => {
  const metrics = program.exported(METRICS, 'Metrics')
  const uncounted = program
    .members(metrics)
    .filter((metric) => !program.isUsed(metric, metrics, ['metrics'], isCounted))
  const advice = 'count the metric, or remove it'
  assert.deepEqual(
    uncounted.map(({ name }) => name),
    ['planted'],
    advice,
  )
})

/** Not in a comparison, a list, a type or a table of answers. */
function isAnswered({ parent }: Node): boolean {
  if (isBinaryExpression(parent)) return isAssignment(parent)
  return !isCaseClause(parent) && !isLiteralTypeNode(parent) && !isArrayLiteralExpression(parent)
}

test('each error code is answered or logged; the check finds one that is not', () => {
  const answered = new Set<string>()
  for (const [node, path] of program.nodes(isStringLiteral, 'ERR_GW_\\w+')) {
    if (path !== ERRORS && isAnswered(node)) answered.add(node.text)
  }
  const codes = program.members(program.exported(ERRORS, 'ERRORS')).map(({ name }) => name)
  const advice = 'answer with the code, or remove it'
  assert.deepEqual(
    codes.filter((code) => !answered.has(code)),
    ['ERR_GW_PLANTED'],
    advice,
  )
})
