/** `gw import`: every field of another gateway's configuration is taken, changed or named, and the result is valid. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse, stringify } from 'yaml'
import { SOURCE_NAMES } from '../../cli/moving/source-names.ts'
import { showPath } from '../../dataplane/config/judgement/problems.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { aRandom } from '../helpers/random.ts'
import { movedOf, RECIPES, type Recipe, treeOf } from './recipes.ts'

type Path = readonly (string | number)[]

/** Written apart from the product's walk, so that both must agree. */
function leavesOf(value: unknown, path: Path = []): Path[] {
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((entry, index) => [index, entry])
    : isRecord(value)
      ? Object.entries(value)
      : []
  if (entries.length === 0) return [path]
  return entries.flatMap(([part, entry]) => leavesOf(entry, [...path, part]))
}

test('there are 25 recipes and more, ten of them for LiteLLM, some for each gateway', () => {
  const counts = SOURCE_NAMES.map((from) => RECIPES.filter((one) => one.from === from).length)
  assert.ok(RECIPES.length >= 25)
  assert.ok((counts[0] ?? 0) >= 10)
  assert.ok(counts.every((count) => count >= 4))
})

for (const recipe of RECIPES) {
  test(`${recipe.from}/${recipe.name} becomes a valid configuration, and none of its fields is lost`, () => {
    const { yaml, fields, problems } = movedOf(recipe)
    assert.deepEqual(
      problems.filter(({ severity }) => severity === 'error'),
      [],
    )
    const leaves = leavesOf(treeOf(recipe)).map(showPath)
    assert.deepEqual(fields.map(({ path }) => path).toSorted(), leaves.toSorted())
    assert.ok(yaml.startsWith(`# Written by gw import ${recipe.from} from ${recipe.name}. `))
    const comments = yaml.split('\n').filter((line) => /^\s*(- )?#/.test(line))
    for (const { path, line, outcome, note } of fields) {
      if (outcome === 'kept') continue
      const words = `line ${line}, ${path}: ${note}`
      assert.ok(
        comments.some((comment) => comment.includes(words)),
        `no comment: ${words}`,
      )
    }
  })

  test(`${recipe.from}/${recipe.name}: another value of a field that is taken gives another result`, () => {
    const before = movedOf(recipe)
    const taken = before.fields.filter(({ outcome }) => outcome === 'kept')
    for (const { path } of taken) {
      const tree = structuredClone(treeOf(recipe))
      const leaf = leavesOf(tree).find((one) => showPath(one) === path) ?? []
      set(tree, leaf, otherThan(valueBelow(tree, ...leaf)))
      const after = movedOf({ ...recipe, text: textOf(recipe, tree) })
      assert.notDeepEqual(parse(after.yaml), parse(before.yaml), `${path} has no effect`)
    }
  })
}

function set(tree: unknown, path: Path, value: unknown): void {
  const owner = Object(path.length === 1 ? tree : valueBelow(tree, ...path.slice(0, -1)))
  owner[path.at(-1) ?? ''] = value
}

function otherThan(value: unknown): unknown {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1
  const text = String(value)
  return text.includes('://') ? `${text}/9` : `${text}9`
}

function textOf({ from }: Recipe, tree: unknown): string {
  const trees = from === 'envoy-ai-gateway' && Array.isArray(tree) ? tree : [tree]
  return trees.map((one) => stringify(one, { aliasDuplicateObjects: false })).join('---\n')
}

test('no value of a credential leaves the file', () => {
  const secrets =
    /sk-literal|gsk-literal|sk-ant-literal|secret-of-a-proxy|litellm:secret|a-secret-of-the-admin|sk-recipe|sk-bf-recipe/
  for (const recipe of RECIPES) {
    const { yaml, fields } = movedOf(recipe)
    assert.doesNotMatch(yaml, secrets, recipe.name)
    assert.doesNotMatch(JSON.stringify(fields), secrets, recipe.name)
  }
})

const ODD: readonly unknown[] = [
  ...[null, '', 0, -1, 1e308, true, 'os.environ/', '${', '*', 'a/b/c', '://', [], {}, [[]], 'é'],
  ...[{ a: { b: 1 } }, ['x', null], '2026-01-01', '9'.repeat(400), 'a\nb\u001b[31m'],
]

test('fields that are added or replaced at random are named too, and nothing throws', () => {
  const random = aRandom(7)
  for (const recipe of RECIPES)
    for (let round = 0; round < 12; round += 1) {
      const tree = structuredClone(treeOf(recipe))
      for (let change = 0; change < 3; change += 1) disturb(tree, random)
      const { yaml, fields } = movedOf({ ...recipe, text: textOf(recipe, tree) })
      const leaves = leavesOf(tree).map(showPath)
      assert.deepEqual(fields.map(({ path }) => path).toSorted(), leaves.toSorted())
      for (const { path, outcome } of fields)
        if (outcome === 'no_place') assert.ok(yaml.includes(path.replaceAll(/\p{Cc}/gu, ' ')), path)
    }
})

function disturb(tree: unknown, random: (bound: number) => number): void {
  const leaves = leavesOf(tree).filter((path) => path.length > 0)
  const leaf = leaves[random(leaves.length)] ?? []
  const value = structuredClone(ODD[random(ODD.length)])
  const depth = 1 + random(leaf.length)
  const owner = depth === 1 ? tree : valueBelow(tree, ...leaf.slice(0, depth - 1))
  if (random(2) === 0 && isRecord(owner)) owner[`added ${random(9)}`] = value
  else set(tree, leaf, value)
}
