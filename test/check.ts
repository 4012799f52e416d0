/**
 * The checks that need no test run: format, linter, types, unused code, rules of the tree, generated files. With
 * `--changed` only what an edit breaks mostly, in seconds: format and linter of the files that differ from main, types
 * and the rules of the tree.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const BIN = join(ROOT, 'node_modules/.bin')
const env = { ...process.env, PATH: [BIN, process.env.PATH].join(delimiter) }

type Command = readonly [program: string, ...args: string[]]

/** The compiler keeps its findings about each file, and judges again only files that an edit touches. */
const TYPES: Command = [
  'tsc',
  ...['--noEmit', '--incremental', '--tsBuildInfoFile', '.cache/check.tsbuildinfo'],
]
const RULES: Command = ['node', '--test', 'test/tidy.test.ts']
const GENERATED: Command = ['node', '--test', 'test/generated.test.ts']

/** Commands of one row run together; a row begins once those before it have passed. */
const WHOLE: readonly (readonly Command[])[] = [
  [['biome', 'check', '.'], TYPES, ['knip']],
  [RULES],
  [GENERATED],
]

const { values } = parseArgs({ options: { changed: { type: 'boolean', default: false } } })
for (const row of values.changed ? [changedRow()] : WHOLE) {
  const passed = await Promise.all(row.map(run))
  if (passed.includes(false)) process.exit(1)
}

function changedRow(): readonly Command[] {
  const files = changedFiles()
  // It fails without a file that it knows, as after an edit of documents alone.
  const format: Command = ['biome', 'check', '--no-errors-on-unmatched', ...files]
  return files.length === 0 ? [TYPES, RULES] : [format, TYPES, RULES]
}

/** The files that differ from the commit at which this branch left main, and new ones. */
function changedFiles(): string[] {
  const main = ['main', 'origin/main'].find((name) => git('rev-parse', '--verify', name) !== '')
  const base = main === undefined ? 'HEAD' : git('merge-base', 'HEAD', main) || 'HEAD'
  const changed = git('diff', '--name-only', base)
  const fresh = git('ls-files', '--others', '--exclude-standard')
  return [changed, fresh]
    .flatMap((names) => names.split('\n'))
    .filter((name) => name !== '' && existsSync(join(ROOT, name)))
}

function git(...args: readonly string[]): string {
  const { stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return (stdout ?? '').trim()
}

/** Its output is written at once when it ends, so that the outputs of a row do not mix. */
async function run([program, ...args]: Command): Promise<boolean> {
  const began = performance.now()
  const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  }
  const status = await new Promise((resolve) => {
    child.on('error', ({ message }) => {
      chunks.push(Buffer.from(message))
      resolve(1)
    })
    child.on('close', resolve)
  })
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const name = [program, ...args].join(' ').slice(0, 60)
  if (status !== 0) process.stdout.write(Buffer.concat(chunks))
  process.stdout.write(`${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s: ${name}\n`)
  return status === 0
}
