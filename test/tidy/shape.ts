/** The shape of files: their size, their first sentence, and lines that are not written. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { code, product, ROOT } from './sources.ts'

const LINES_MAX = 300
const FILES_MAX = 15
const LINE_LENGTH_MAX = 130

const BANNED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(TODO|FIXME|XXX)\b/, 'finish it, or say in the docs that it is not there'],
  [/\bas any\b(?! )|[a-z]: any[,;)>\]]|Array<any>/, 'use unknown and narrow it'],
  [/@ts-(ignore|expect-error|nocheck)/, 'make the types say it'],
  [/\b(test|it|describe)\.(skip|todo|only)\b/, 'a test runs, or it is not there'],
  [/\bconsole\.(log|error|warn)\b/, 'write through telemetry/log.ts or cli/printing/output.ts'],
  [/export default\b/, 'export by name'],
  [/^\s*enum\s/m, 'use a union of literals'],
]

/** One kit reads values that have no type yet. */
const KIT = 'dataplane/json/values.ts'

/** Output for people, or a bench that reports. */
const PRINTS = ['test/bench/', 'cli/quickstart/']

const DRAWERS = /^(utils?|helpers?|common|misc|types)\.ts$/

test('a file fits the head', () => {
  for (const { path, text } of product) {
    const lines = text.split('\n').length
    assert.ok(
      lines <= LINES_MAX,
      `${path} has ${lines} lines; split it by noun (${LINES_MAX} is the end)`,
    )
    const long = text.split('\n').findIndex((line) => line.length > LINE_LENGTH_MAX)
    assert.equal(long, -1, `${path}:${long + 1} is longer than ${LINE_LENGTH_MAX} columns`)
  }
})

test('a folder holds what can be seen at a glance', () => {
  const folders = Map.groupBy(product, ({ path }) => dirname(path))
  for (const [folder, files] of folders) {
    const advice = `${files.length} source files; group them by duty (${FILES_MAX} is the end)`
    assert.ok(files.length <= FILES_MAX, `${folder} has ${advice}`)
  }
})

test('a file says first what it is for', () => {
  for (const { path, text } of product) {
    assert.match(text, /^(#!.*\n)?\/\*\*/, `${path} must begin with a sentence on what it is for`)
  }
})

test('no drawers, no banned words', () => {
  for (const { path, text } of code) {
    assert.doesNotMatch(basename(path), DRAWERS, `${path} is a drawer; name it by its noun`)
    if (path === 'test/tidy/shape.ts') continue
    for (const [pattern, instead] of BANNED) {
      if (PRINTS.some((start) => path.startsWith(start)) && pattern.source.includes('console'))
        continue
      assert.doesNotMatch(text, pattern, `${path} has ${pattern}: ${instead}`)
    }
  }
})

test('values without a type are read by one kit', () => {
  const another =
    /\bfunction (isRecord|isObject|isMap)\(|=== null \|\| typeof \w+ !== 'object' \|\| Array/
  for (const { path, text } of product) {
    if (path !== KIT)
      assert.doesNotMatch(text, another, `${path} reads values its own way; take ${KIT}`)
  }
})

test('what a request passes through writes no function at its assignment to a property', () => {
  const passed =
    /^dataplane\/(stages|streaming|upstream|apis|limits|budgets)\/|^dataplane\/(response|visit|pipeline)\.ts/
  const assigned =
    /^[^/*\n]*[\w\])]\.#?\w+ (?:\?\?)?= (?:async )?(?:function\b|\w+ =>|\([^()\n]*\) =>)/m
  for (const { path, text } of product) {
    if (!passed.test(path) || OLD_FUNCTIONS.includes(path)) continue
    const found = assigned.exec(text)?.[0].trim()
    assert.equal(
      found,
      undefined,
      `${path}: V8 makes it old, with all it sees; name it first: ${found}`,
    )
  }
})

/** Made once a process, not once a request. */
const OLD_FUNCTIONS = ['dataplane/upstream/live/targets.ts']

/** A comment that gives speed as its reason. */
const SPEED =
  /\bV8\b|hidden class|monomorphic|megamorphic|inlined|\b(?:faster|slower|cheaper|dearer) than\b|\bcosts? (?:less|more|half|twice|a \w+th)\b|copied at each new field/i
const COMMENT = /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n)+/gm

test('a line that is written for speed names the benchmark that shows it', () => {
  for (const { path, text } of product) {
    for (const [comment] of text.matchAll(COMMENT)) {
      if (!SPEED.test(comment)) continue
      const file = /test\/bench\/micro\/[\w-]+\.ts/.exec(comment)?.[0]
      const advice = `${path}: name a file of test/bench/micro/ with what it printed, or write it plainly`
      assert.ok(file !== undefined && existsSync(join(ROOT, file)), `${advice}: ${comment.trim()}`)
    }
  }
})
